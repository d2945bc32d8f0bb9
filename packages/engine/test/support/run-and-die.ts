/** A process that runs a document as build `argv[2]` until somebody kills it; it says `running` when the document says `begun`. */
import { readFileSync } from 'node:fs'
import { runPipeline } from './run-pipeline.ts'

const [, , buildId = '', file = ''] = process.argv
await runPipeline(readFileSync(file, 'utf8'), {
  input: { buildId, volumeName: `windlass-test-${buildId}` },
  variables: { FAST: 'no' },
  onOutput: (_, text) => text.includes('begun') && process.stdout.write('running\n'),
})
