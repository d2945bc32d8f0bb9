/** The gain from a disk for the next build on Kubernetes, and the time until only the disk of a build is left. */
import { newId } from '@windlass/kit'
import { podGoes } from '../../floors/pod.ts'
import { spread, type Line, type Row } from '../../row.ts'
import { type ClusterStack } from '../../stack/cluster.ts'
import { follow } from '../../stack/follow.ts'
import { openRunnerStack } from '../../stack/runner.ts'

const RUNS = 3
const FLOOR_RUNS = 5
/** Objects that are reported as gone must be gone by then. */
const GONE_MS = 60_000

export const secondBuild: Line = { name: 'second-build', measure }

/** An image with three layers of work: one second of waiting and 20 MB each. Its mark makes the layers unique to one pair of builds. */
function document(image: string, mark: string): string {
  const layers = [1, 2, 3].map((n) => `RUN sleep 1; head -c 20000000 /dev/urandom > /layer-${n}; echo ${mark}`)
  const lines = [`FROM ${image}`, ...layers].map((line) => `'${line}'`).join(' ')
  const prepare = `mkdir -p app && printf '%s\\n' ${lines} > app/Dockerfile`
  const build = {
    type: 'build',
    image_name: 'windlass-bench/second',
    tag: mark,
    working_directory: 'app',
    disable_push: true,
    no_cf_cache: true,
  }
  return JSON.stringify({ version: '1.0', steps: { prepare: { image, commands: [prepare] }, build } })
}

async function measure(): Promise<Row[]> {
  await using stack = await openRunnerStack()
  const { images, kubeconfig, namespace } = stack
  const image = images['TOOLS_IMAGE'] ?? ''
  const times = { first: [] as number[], second: [] as number[], gone: [] as number[] }
  for (let n = 0; n < RUNS; n += 1) {
    const text = document(image, newId(Date.now()))
    times.first.push(await timeBuild(stack, { document: text, resetVolume: true }))
    times.gone.push(await timeUntilGone(stack))
    times.second.push(await timeBuild(stack, { document: text, resetVolume: false }))
    times.gone.push(await timeUntilGone(stack))
  }
  const pod = { kubeconfig, namespace, image: images['DIND_IMAGE'] ?? '' }
  const first = spread(times.first)
  const what = 'build submitted -> success recorded: an image of three layers, a second of work each'
  return [
    { name: 'cluster-first-build', figure: `${what}, empty disk`, unit: 's', value: first, warmUp: 0 },
    {
      name: 'cluster-second-build',
      figure: `${what}, the disk of the first build`,
      unit: 's',
      value: spread(times.second),
      warmUp: 0,
      floor: { what: 'the first build', value: first },
    },
    {
      name: 'cluster-build-gone',
      figure: 'success recorded -> no pod, Secret or claim of the build is left, only its disk',
      unit: 's',
      value: spread(times.gone),
      warmUp: 0,
      floor: { what: 'one pod: delete with a grace of 1 s -> gone', value: await podGoes(pod, FLOOR_RUNS) },
      goal: 60,
    },
  ]
}

async function timeBuild({ client }: ClusterStack, body: { document: string; resetVolume: boolean }): Promise<number> {
  const startedAt = performance.now()
  const { id } = await client.builds.create(body, { idempotencyKey: false })
  let end = Number.NaN
  for await (const { item, at } of follow(client, id)) {
    if (item.kind !== 'event' || item.type !== 'build.finished') continue
    if (item.data['status'] !== 'success') throw new Error(`the build ended as ${JSON.stringify(item.data)}`)
    end = at - startedAt
  }
  return end / 1_000
}

async function timeUntilGone({ kubectl }: ClusterStack): Promise<number> {
  const startedAt = performance.now()
  for (;;) {
    const kinds = 'pods,secrets,persistentvolumeclaims'
    const left = await kubectl('get', kinds, '--selector', 'windlass.io/build', '--output', 'name')
    const took = performance.now() - startedAt
    if (left.trim() === '') return took / 1_000
    if (took > GONE_MS) throw new Error(`still there after ${GONE_MS} ms: ${left}`)
  }
}
