/** The lines of a failed step that matter, for `describe build`: the same as the page shows. */
import { visibleText } from '@windlass/ansi'
import type { ApiClient } from '@windlass/client'
import { isFault } from '@windlass/kit'
import { tellingLines } from '@windlass/plan'
import { stepStream, type Build } from '@windlass/protocol'
import type { Style } from '../../format/style.ts'

/**
 * Returns the lines around the problem of the failed step that tells most, or its last ones, with their numbers and the command that prints the whole log.
 * Empty if no step failed, or it has no output.
 */
export async function failedLines(client: ApiClient, build: Build, style: Style): Promise<string[]> {
  if (build.blame === undefined || build.finishedAt === undefined) return []
  const stream = stepStream(build.blame)
  try {
    const marks = await client.builds.logMarks(build.id, { query: { stream } })
    const { problem, ...range } = tellingLines(marks.problems)
    const shown = await client.builds.logLines(build.id, { query: { stream, ...range } })
    if (shown.lines === 0) return []
    const texts = shown.text.replace(/\n$/, '').split('\n').map(visibleText)
    const width = String(shown.from + texts.length).length
    const rows = texts.map((text, index) => {
      const at = shown.from + index
      return `${at === problem?.line ? style.red('>') : ' '} ${style.dim(String(at + 1).padStart(width))}  ${text}`.trimEnd()
    })
    const head = problem === undefined ? `Last lines of ${build.blame}:` : `Problem of ${build.blame}:`
    return [head, ...rows, style.dim(`The whole log: windlass logs ${build.id} --step ${build.blame}`)]
  } catch (error) {
    if (isFault(error, 'not-found')) return []
    throw error
  }
}
