/** Copies a build as Markdown: its sentence, its failed step with the last lines, and its address. */
import { visibleText } from '@windlass/ansi'
import { stepToBlame, toMarkdown } from '@windlass/plan'
import { stepStream, type Build } from '@windlass/protocol'
import { queries } from '../../server/queries.ts'
import { queryClient } from '../../server/query-client.ts'
import { copyAndTell } from '../../shell/toasts.tsx'
import { paths } from '../../url/paths.ts'

const LINES = 20

export async function copySummary(build: Build): Promise<void> {
  const step = build.status === 'error' ? stepToBlame(build) : undefined
  const lastLines = step === undefined ? [] : await readLastLines(build.id, step.name)
  const address = `${location.origin}${paths.build(build.id)}`
  await copyAndTell(toMarkdown(build, { address, lastLines }), 'the summary as Markdown')
}

/** A summary without lines is better than none. */
async function readLastLines(id: string, step: string): Promise<readonly string[]> {
  try {
    const range = { from: -LINES, count: LINES }
    const { text } = await queryClient.fetchQuery(queries.linesFrom(id, stepStream(step), range))
    return text.replace(/\n$/, '').split('\n').map(visibleText)
  } catch {
    return []
  }
}
