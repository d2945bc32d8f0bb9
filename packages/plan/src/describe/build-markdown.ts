/** A build as Markdown, to paste into a chat or an issue. */
import { describeBuild, describeStep, stepToBlame, type DescribedBuild } from './describe-build.ts'

interface QuotedBuild extends DescribedBuild {
  readonly number: number
  readonly pipeline?: string | null | undefined
  readonly branch?: string | null | undefined
  readonly revision?: string | null | undefined
}

/** Returns the sentence of a build, its failed step with its last lines, and its address. The lines are those of the log, which masks secrets. */
export function toMarkdown(
  build: QuotedBuild,
  { address, lastLines = [] }: { readonly address: string; readonly lastLines?: readonly string[] },
): string {
  const step = build.status === 'error' ? stepToBlame(build) : undefined
  const { pipeline, branch, revision, number } = build
  const commit = typeof revision === 'string' ? code(revision.slice(0, 8)) : ''
  const place = [typeof branch === 'string' ? code(branch) : '', commit].filter((part) => part !== '')
  const parts = [
    `**${escape(`${pipeline ?? 'Build'} #${number}`)}** ${escape(describeBuild(build).replace(/\.$/, ''))}.`,
    ...(place.length === 0 ? [] : [place.join(' at ')]),
    ...(step === undefined ? [] : [`Step ${code(step.name)}: ${escape(describeStep(step))}`]),
    ...(lastLines.length === 0 ? [] : [fence(lastLines)]),
    address,
  ]
  return `${parts.join('\n\n')}\n`
}

/** Escapes what Markdown would read as markup. */
function escape(text: string): string {
  return text.replaceAll(/[\\`*_[\]<>#|~]/g, (character) => `\\${character}`).replaceAll(/\s+/g, ' ')
}

/** Returns a code span whose fence is longer than any row of backticks in the text. */
function code(text: string): string {
  const ticks = '`'.repeat(longestTicks(text) + 1)
  const space = text.startsWith('`') || text.endsWith('`') ? ' ' : ''
  return `${ticks}${space}${text}${space}${ticks}`
}

function fence(lines: readonly string[]): string {
  const text = lines.join('\n')
  const ticks = '`'.repeat(Math.max(3, longestTicks(text) + 1))
  return `${ticks}\n${text}\n${ticks}`
}

function longestTicks(text: string): number {
  // Not an argument for each row: a call takes a limited number of them.
  return (text.match(/`+/g) ?? []).reduce((longest, { length }) => Math.max(longest, length), 0)
}
