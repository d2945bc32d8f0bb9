/** Runs a document as build `argv[2]` until the process is killed. Prints `running` when the document prints `begun`. */
import { readFileSync } from 'node:fs'
import { runPipeline } from './run-pipeline.ts'

const [, , buildId = '', file = ''] = process.argv
await runPipeline(readFileSync(file, 'utf8'), {
  input: { buildId, volumeName: `windlass-test-${buildId}` },
  variables: { FAST: 'no' },
  onOutput: (_, text) => text.includes('begun') && process.stdout.write('running\n'),
})
