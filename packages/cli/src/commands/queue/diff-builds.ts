import { defined } from '@windlass/kit/defined'
import { formatDuration, isLonger } from '@windlass/plan'
import type { BuildComparison } from '@windlass/protocol'
import type { Invocation } from '../../command.ts'
import { alignColumns } from '../../format/columns.ts'
import { printValue } from '../../format/output.ts'
import { requireBuildId } from '../../input/build-id.ts'
import { openSession } from '../../session/session.ts'

/** Runs `diff builds BUILD [OTHER]`. */
export async function diffBuilds({
  args,
  options,
  out,
  settings,
}: Invocation<{ output: 'json' | 'yaml' | undefined }>): Promise<void> {
  const [id = '', other] = args
  const query = defined({ with: other === undefined ? undefined : requireBuildId(other) })
  const comparison = await openSession(settings).client.builds.compare(requireBuildId(id), { query })
  if (options.output !== undefined) return printValue(out, comparison, options.output)
  for (const line of describeComparison(comparison)) out.line(line)
}

/** Returns the differences, with `-` before the values of the other build and `+` before those of this one. */
export function describeComparison(comparison: BuildComparison): string[] {
  const { before, after, isSame, commit, document, variables, images, runtime } = comparison
  const lines = [
    `- build ${before.number} (${before.id}): ${before.status}`,
    `+ build ${after.number} (${after.id}): ${after.status}`,
  ]
  if (isSame) lines.push('', 'Commit, document, variables, images and runtime are the same.')
  if (commit !== undefined) lines.push('', 'Commit:', ...sides(commit, (one) => Object.values(one).join(' · ')))
  if (runtime !== undefined)
    lines.push(
      '',
      'Runtime:',
      ...sides(runtime, ({ name, version }) => (version === undefined ? name : `${name}, version ${version}`)),
    )
  if (variables.length > 0) lines.push('', 'Variables:')
  for (const { name, ...change } of variables)
    lines.push(...sides(change, ({ level, value, isSecret }) => `${name}=${isSecret ? '*****' : (value ?? '')} (${level})`))
  if (images.length > 0) lines.push('', 'Images:')
  for (const { step, ...change } of images)
    lines.push(...sides(change, ({ name, digest }) => `${step}: ${name}${digest === undefined ? '' : ` (${digest})`}`))
  if (document !== undefined) lines.push('', 'Document:', ...documentLines(document))
  const steps = stepRows(comparison)
  if (steps.length > 0) lines.push('', ...alignColumns([['STEP', 'BEFORE', 'AFTER'], ...steps]))
  return lines
}

function sides<T>({ before, after }: { before?: T | undefined; after?: T | undefined }, show: (one: T) => string): string[] {
  return [...(before === undefined ? [] : [`- ${show(before)}`]), ...(after === undefined ? [] : [`+ ${show(after)}`])]
}

/** Returns the lines that only one of the documents has. */
function documentLines({ before = '', after = '' }: NonNullable<BuildComparison['document']>): string[] {
  const only = (text: string, other: string): string[] => {
    const counts = new Map<string, number>()
    for (const line of other.split('\n')) counts.set(line, (counts.get(line) ?? 0) + 1)
    return text.split('\n').filter((line) => {
      const left = counts.get(line) ?? 0
      counts.set(line, left - 1)
      return left <= 0
    })
  }
  const lines = [...only(before, after).map((line) => `- ${line}`), ...only(after, before).map((line) => `+ ${line}`)]
  return lines.length > 0 ? lines : ['The same lines in another order.']
}

/** Returns the steps whose status or time differs. */
function stepRows({ steps }: BuildComparison): string[][] {
  return steps
    .filter(({ before, after }) => before?.status !== after?.status || isLonger(before?.ms, after?.ms))
    .map(({ name, before, after }) => [name, shown(before), shown(after)])
}

function shown(step: BuildComparison['steps'][number]['after']): string {
  if (step === undefined) return 'absent'
  return step.ms === undefined ? step.status : `${step.status}, ${formatDuration(step.ms)}`
}
