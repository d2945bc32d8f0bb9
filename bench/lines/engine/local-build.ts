/** One build of one step on the Docker daemon of this machine: until its first output is stored, and until its success is recorded. */
import { openNamespace, runContainer } from '../../floors/docker.ts'
import { spread, type Line, type Row } from '../../row.ts'
import { follow, isStepOutput } from '../../stack/follow.ts'
import { benchImages, openLocalStack, toDocument } from '../../stack/local.ts'

const RUNS = 15
const WARM_UP = 3
const FLOOR = 'one container by API that joins a namespace made ahead, log driver none: create -> first byte'

export const localBuild: Line = { name: 'local-build', measure }

async function measure(): Promise<Row[]> {
  const { shell } = await benchImages()
  const document = toDocument({ hello: { image: shell, command: 'echo hello' } })
  const ours: { first: number; end: number }[] = []
  const floors: { first: number; exit: number }[] = []
  await using stack = await openLocalStack()
  await using namespace = await openNamespace(shell)
  for (let n = -WARM_UP; n < RUNS; n += 1) {
    const run = await timeBuild(stack, document)
    // Alternates, so that both run under the same load.
    const floor = await runContainer(shell, ['sh', '-c', 'echo hello'], { network: namespace.network })
    if (n >= 0) ours.push(run)
    if (n >= 0) floors.push({ first: floor.firstByteMs, exit: floor.exitMs })
  }
  return [
    {
      name: 'local-first-output',
      figure: 'build submitted -> a follower has the first output of its one step, server, agent and engine in one process',
      unit: 'ms',
      value: spread(ours.map(({ first }) => first)),
      warmUp: WARM_UP,
      floor: {
        what: FLOOR,
        value: spread(floors.map(({ first }) => first)),
      },
      goal: 350,
    },
    {
      name: 'local-success',
      figure: 'build submitted -> success recorded',
      unit: 'ms',
      value: spread(ours.map(({ end }) => end)),
      warmUp: WARM_UP,
      floor: { what: `${FLOOR}, to its exit code`, value: spread(floors.map(({ exit }) => exit)) },
      goal: 400,
      goalRatio: 2,
    },
  ]
}

async function timeBuild(
  { client, submit }: Awaited<ReturnType<typeof openLocalStack>>,
  document: string,
): Promise<{ first: number; end: number }> {
  const startedAt = performance.now()
  const { id } = await submit(document)
  let first: number | undefined
  let end = Number.NaN
  for await (const seen of follow(client, id)) {
    if (isStepOutput(seen)) first ??= seen.at - startedAt
    const { item } = seen
    if (item.kind !== 'event' || item.type !== 'build.finished') continue
    if (item.data['status'] !== 'success') throw new Error(`the build ended as ${JSON.stringify(item.data)}`)
    end = seen.at - startedAt
  }
  return { first: first ?? Number.NaN, end }
}
