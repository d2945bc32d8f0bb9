/** The cost of a step that does nothing. */
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { openNamespace, runContainer } from '../../floors/docker.ts'
import { sample, spread, type Line, type Row } from '../../row.ts'
import { follow } from '../../stack/follow.ts'
import { benchImages, openLocalStack, toDocument } from '../../stack/local.ts'

const STEPS = 20
const RUNS = 5
const WARM_UP = 1

/** From the start of the first step to the end of the last, by the events of the engine, divided by their number. */
export const localSteps: Line = { name: 'local-steps', measure }

async function measure(): Promise<Row[]> {
  const { shell } = await benchImages()
  const steps = Array.from({ length: STEPS }, (_, n) => [`step${n}`, { image: shell, command: 'true' }] as const)
  const document = toDocument(Object.fromEntries(steps))
  const perStep: number[] = []
  await using stack = await openLocalStack()
  for (let n = -WARM_UP; n < RUNS; n += 1) {
    const { id } = await stack.submit(document)
    const times: number[] = []
    for await (const { item } of follow(stack.client, id)) {
      if (item.kind === 'event' && (item.type === 'step.started' || item.type === 'step.finished')) times.push(item.at)
      if (item.kind === 'event' && item.type === 'build.finished' && item.data['status'] !== 'success') {
        throw new Error(`the build ended as ${JSON.stringify(item.data)}`)
      }
    }
    if (n >= 0) perStep.push((Math.max(...times) - Math.min(...times)) / STEPS)
  }
  await using namespace = await openNamespace(shell)
  const floor = await sample(10, 1, async () => (await runContainer(shell, ['true'], namespace)).exitMs)
  const bridged = await sample(5, 1, async () => (await runContainer(shell, ['true'])).removedMs)
  const docker = await sample(5, 1, async () => void (await promisify(execFile)('docker', ['run', '--rm', shell, 'true'])))
  return [
    {
      name: 'local-steps',
      figure: `${STEPS} empty steps in sequence, per step`,
      unit: 'ms',
      value: spread(perStep),
      warmUp: WARM_UP,
      floor: {
        what: 'one container by API that joins an existing namespace, log driver none: create -> exit code known',
        value: floor,
      },
      goal: 140,
      goalRatio: 1.1,
      note: `create to removed with its own bridge network: ${bridged.median.toFixed(0)} ms; docker run --rm of the same command: ${docker.median.toFixed(0)} ms (${docker.min.toFixed(0)}-${docker.max.toFixed(0)}, n ${docker.n})`,
    },
  ]
}
