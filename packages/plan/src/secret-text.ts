/** Which secret texts are masked in output. The engine masks by this rule, and the page shows what it leaves out while a secret is typed. */

/** Shorter texts are not masked, because they would turn half the log into asterisks. Characters. */
export const SHORTEST_SECRET = 3

/** Words that are in the output of most builds. The list is this short because any other word, such as `default`, may be a password. */
const COMMON_WORDS: ReadonlySet<string> = new Set(['true', 'false'])

/** `short`: fewer than `SHORTEST_SECRET` characters. `word`: a common word. `armor`: a line that begins or ends a PEM block. `brackets`: only brackets and commas. */
export type Unmasked = 'short' | 'word' | 'armor' | 'brackets'

/** Returns why a text of one line is not masked; undefined if it is. */
export function whyUnmasked(text: string): Unmasked | undefined {
  if (text.length < SHORTEST_SECRET) return 'short'
  if (COMMON_WORDS.has(text.toLowerCase())) return 'word'
  if (/^-----(BEGIN|END) [A-Z0-9 ]+-----$/.test(text)) return 'armor'
  if (/^\s*[{}[\](),][\s{}[\](),]*$/.test(text)) return 'brackets'
  return undefined
}

/** Returns the trimmed lines of a secret with several lines, which terminals and logs print separately; none of another secret. */
export function linesOfSecret(value: string): string[] {
  return value.includes('\n')
    ? value
        .split('\n')
        .map((line) => line.trim())
        .filter((line) => line !== '')
    : []
}

const REASONS: Readonly<Record<Unmasked, string>> = {
  short: `it has fewer than ${SHORTEST_SECRET} characters`,
  word: 'it is a common word',
  armor: 'it has no secret part between its first and its last line',
  brackets: 'it has only brackets',
}

/** Describes what of a secret is not masked in logs; undefined if all of it is, or if it is empty. Lines are numbered as they are typed. */
export function describeUnmasked(value: string): string | undefined {
  const lines = value
    .split('\n')
    .map((line, index) => ({ text: line.trim(), number: index + 1 }))
    .filter(({ text }) => text !== '')
    .map(({ text, number }) => ({ number, why: whyUnmasked(text) }))
  const unmasked = lines.flatMap(({ number, why }) => (why === undefined ? [] : [{ number, why }]))
  const [first] = unmasked
  if (first === undefined) return undefined
  if (lines.length === 1) return `Logs show this value, because ${REASONS[first.why]}.`
  const shown = unmasked.filter(({ why }) => why !== 'armor')
  if (unmasked.length === lines.length)
    return `Logs show the lines of this value: ${shown.length === 0 ? REASONS.armor : 'each of them is too short, a common word or brackets'}.`
  if (shown.length === 0) return 'The first and the last line are not masked, because they are not secret. The lines between are.'
  const numbers = shown.slice(0, 5).map(({ number }) => number)
  return `Logs show ${shown.length === 1 ? 'line' : 'lines'} ${numbers.join(', ')} of this value: too short, a common word or brackets.`
}
