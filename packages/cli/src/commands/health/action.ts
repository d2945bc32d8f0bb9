import type { Health, HealthLevel, HealthSummary } from '@windlass/protocol'
import { systemClock } from '@windlass/kit'
import type { Invocation } from '../../command.ts'
import { EXIT } from '../../exit-codes.ts'
import { alignColumns } from '../../format/columns.ts'
import { printValue } from '../../format/output.ts'
import { paintStatus, type Style } from '../../format/style.ts'
import { formatAge } from '../../format/time.ts'
import { openSession } from '../../session/session.ts'

/** Runs `get health`. Returns 1 if builds cannot run. */
export async function showHealth({
  args,
  options,
  out,
  settings,
}: Invocation<{ output: 'json' | 'yaml' | undefined }>): Promise<number> {
  const { client } = openSession(settings)
  const [name] = args
  const all = name === undefined ? await client.health.server() : undefined
  const health = all ?? (await client.health.runtime(name ?? ''))
  const { style } = out.stdout
  if (options.output !== undefined) await printValue(out, health, options.output)
  else {
    for (const line of describeHealth(health, { style, now: systemClock.now() })) out.line(line)
    for (const line of alignColumns((all?.runtimes ?? []).map((one) => toRow(one, style)))) out.line(line)
  }
  return health.level === 'error' ? EXIT.failed : EXIT.success
}

/** Returns the sentence, and each finding with its hint. Pure. */
function describeHealth({ level, sentence, findings }: Health, { style, now }: { style: Style; now: number }): string[] {
  const [first] = findings
  const others = first?.message === sentence ? findings.slice(1) : findings
  return [
    `${paintLevel(style, level)}  ${sentence}`,
    ...(first?.message === sentence ? [`    ${style.dim(first.hint)}`] : []),
    ...others.flatMap((finding) => [
      `${paintLevel(style, finding.level)}  ${finding.message}${finding.since === undefined ? '' : ` (${formatAge(finding.since, now)})`}`,
      `    ${style.dim(finding.hint)}`,
    ]),
  ]
}

function toRow({ name, level, sentence }: HealthSummary & { readonly name: string }, style: Style): string[] {
  return [name, paintLevel(style, level), sentence]
}

function paintLevel(style: Style, level: HealthLevel): string {
  return paintStatus(style, level === 'ok' ? 'success' : level, level)
}
