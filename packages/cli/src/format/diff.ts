/** Colors of a difference in the unified format. */
import type { Style } from './style.ts'

/** Returns the lines of a patch. */
export function paintDiff(patch: string, style: Style): string[] {
  const text = patch.trimEnd()
  if (text === '') return []
  return text
    .split('\n')
    .map((line) => (line.startsWith('+') ? style.green(line) : line.startsWith('-') ? style.red(line) : line))
}
