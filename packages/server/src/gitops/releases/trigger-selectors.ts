/** Which commits start a release. Pure. */
import type { GitTriggerSelector } from '@windlass/protocol'

export interface SeenCommit {
  readonly message: string
  /** The branch or tag that the application follows; empty for the default branch. */
  readonly branch: string
}

/** Returns true if all selectors match a commit. */
export function selectsCommit(selectors: readonly GitTriggerSelector[], commit: SeenCommit): boolean {
  return selectors.every(({ operator, ...selector }) => matches(selector, commit) === (operator === 'In'))
}

function matches({ key, values }: Pick<GitTriggerSelector, 'key' | 'values'>, { message, branch }: SeenCommit): boolean {
  if (key === 'gitRevision') return values.some((value) => (value.includes('*') ? isLike(branch, value) : branch === value))
  return values.some((value) => (value.includes('*') ? isLike(message, value) : message.includes(value)))
}

/** Whether a text has the parts between the * of a pattern, in their order. A regular expression could take the square of the length of the text. */
function isLike(text: string, pattern: string): boolean {
  const parts = pattern.split('*')
  const [first = '', last = ''] = [parts[0], parts.at(-1)]
  if (!text.startsWith(first) || !text.endsWith(last) || text.length < first.length + last.length) return false
  let at = first.length
  const end = text.length - last.length
  for (const part of parts.slice(1, -1)) {
    const found = text.indexOf(part, at)
    if (found < 0 || found + part.length > end) return false
    at = found + part.length
  }
  return true
}
