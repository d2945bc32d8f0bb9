/** The gain from the caches of image builds: the same step with new content, with layers of an earlier build, and with unchanged content. */
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { newId } from '@windlass/kit'
import { spread, type Line, type Row } from '../../row.ts'
import { follow } from '../../stack/follow.ts'
import { benchImages, openLocalStack } from '../../stack/local.ts'

const RUNS = 5
const WARM_UP = 1
const run = promisify(execFile)
const CONTEXTS = ['new', 'warm', 'same'] as const

export const imageBuild: Line = { name: 'image-build', measure }

/** One command of the Dockerfile takes a second; the file that is copied after it changes only in the `warm` build. */
function document(shell: string, { mark, content }: { mark: string; content: string }): string {
  const dockerfile = [`FROM ${shell}`, `RUN sleep 1; echo ${mark}`, 'COPY file /file'].map((line) => `'${line}'`).join(' ')
  return `
version: '1.0'
steps:
  prepare: {image: ${shell}, commands: ["mkdir -p app && echo ${content} > app/file && printf '%s\\\\n' ${dockerfile} > app/Dockerfile"]}
  build: {type: build, image_name: windlass-bench/image, tag: ${mark}, working_directory: app, disable_push: true}
`
}

async function measure(): Promise<Row[]> {
  const { shell } = await benchImages()
  const times = { new: [] as number[], warm: [] as number[], same: [] as number[] }
  const marks: string[] = []
  await using stack = await openLocalStack()
  for (let n = -WARM_UP; n < RUNS; n += 1) {
    const mark = newId(Date.now())
    marks.push(mark)
    for (const context of CONTEXTS) {
      const { id } = await stack.submit(document(shell, { mark, content: context === 'new' ? 'one' : 'two' }))
      const took = await timeOfStep(stack.client, id)
      if (n >= 0) times[context].push(took)
    }
  }
  for (const mark of marks) await run('docker', ['rmi', '--force', `windlass-bench/image:${mark}`]).catch(() => undefined)
  const base = { unit: 'ms', warmUp: WARM_UP } as const
  return [
    {
      ...base,
      name: 'image-build-new',
      figure: 'build step, nothing cached, one command of 1 s in the Dockerfile',
      value: spread(times.new),
    },
    {
      ...base,
      name: 'image-build-warm',
      figure: 'the same step, one copied file changed: layers of the first build are reused',
      value: spread(times.warm),
    },
    {
      ...base,
      name: 'image-build-same',
      figure: 'the same step, nothing changed: the build is skipped',
      value: spread(times.same),
    },
  ]
}

async function timeOfStep(client: Parameters<typeof follow>[0], id: string): Promise<number> {
  const at = new Map<string, number>()
  for await (const { item } of follow(client, id)) {
    if (item.kind !== 'event') continue
    if (item.data['step'] === 'build') at.set(item.type, item.at)
    if (item.type === 'build.finished' && item.data['status'] !== 'success')
      throw new Error(`the build ended as ${JSON.stringify(item.data)}`)
  }
  return (at.get('step.finished') ?? 0) - (at.get('step.started') ?? 0)
}
