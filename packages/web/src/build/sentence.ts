/** Sentences about a build as the page shows them. Pure. */
import { describeBuild } from '@windlass/plan'
import type { Build } from '@windlass/protocol'

/** Returns the sentence with a capital and a stop, and what was lost with the infrastructure. */
export function sentenceOf(build: Build): string {
  const sentence = capitalized(describeBuild(build))
  const lost =
    build.retries === 0
      ? ''
      : ` ${build.retries === 1 ? 'One attempt was' : `${build.retries} attempts were`} lost with the infrastructure.`
  return `${sentence}${/[.!?]$/.test(sentence) ? '' : '.'}${lost}`
}

/** Returns the sentence of a build in a list. A build that ended well shows its annotation instead. */
export function listSentenceOf(build: Build): string {
  const { display } = build
  if (build.status === 'success' && display !== undefined) return `${display.name}: ${String(display.value)}`
  return capitalized(describeBuild(build))
}

/** Steps that the question before the end of a build names. */
const NAMED = 3

/** Returns the sentence about the steps that run, such as `lint and test are stopped. `; empty without any. */
export function whatStops({ steps = [] }: Pick<Build, 'steps'>): string {
  const running = steps.filter(({ status, type }) => status === 'running' && type !== 'group').map(({ name }) => name)
  if (running.length === 0) return ''
  if (running.length === 1) return `${running[0]} is stopped. `
  const more = running.length - NAMED
  const named = more > 0 ? [...running.slice(0, NAMED), `${more} more`] : running
  return `${named.slice(0, -1).join(', ')} and ${named.at(-1)} are stopped. `
}

function capitalized(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1)
}
