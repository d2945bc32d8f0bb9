/** The sentence of a build as the page shows it. */
import { describeBuild } from '@windlass/plan'
import type { Build } from '@windlass/protocol'

/** Returns the sentence with a capital and a stop, and what was lost with the infrastructure. */
export function sentenceOf(build: Build): string {
  const text = describeBuild(build)
  const sentence = text.charAt(0).toUpperCase() + text.slice(1)
  const lost =
    build.retries === 0
      ? ''
      : ` ${build.retries === 1 ? 'One attempt was' : `${build.retries} attempts were`} lost with the infrastructure.`
  return `${sentence}${/[.!?]$/.test(sentence) ? '' : '.'}${lost}`
}
