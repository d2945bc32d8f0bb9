/**
 * Two hundred builds at once on one agent. Their pods name a scheduler that does not exist, so that every object is created and no container runs:
 * two cores cannot run two hundred daemons.
 */
import https from 'node:https'
import { once } from 'node:events'
import { silentLog } from '@windlass/kit'
import { openKube, readKubeconfig, type ClusterAccess } from '@windlass/kube'
import { ensureImages } from '../../../e2e/support/images.ts'
import { eventually } from '../../../e2e/support/installation.ts'
import { bareNodeMiB, peakRssMiB, rssMiB } from '../../floors/processes.ts'
import { single, spread, type Line, type Row, type Spread } from '../../row.ts'
import { openProcessStack, type ProcessStack } from '../../stack/cluster.ts'

const PODS = 200
const RUNS = 3
const CONNECTIONS = 8
/** Pods with this label are never scheduled and run nothing. */
const LABEL = 'windlass-bench=many'
/** An image that does nothing, because none of these pods runs. */
let pauseImage = ''

export const manyAttempts: Line = { name: 'many-attempts', measure }

async function measure(): Promise<Row[]> {
  pauseImage = (await ensureImages('pause'))['PAUSE_IMAGE'] ?? ''
  await using stack = await openProcessStack()
  const { installation, namespace } = stack
  const access = await readKubeconfig(installation.cluster.kubeconfig)
  const pods: number[] = []
  const floors: number[] = []
  for (let n = 0; n < RUNS; n += 1) {
    floors.push(await rawPods(access, namespace))
    await noPods(stack)
    pods.push(await clientPods(access, namespace))
    await noPods(stack)
  }
  const idle = await rssMiB(installation.agent.pid())
  const made = await manyBuilds(stack)
  const bare = { what: 'a Node process that only waits', value: single(await bareNodeMiB()) }
  const post = { what: `${PODS} POSTs over ${CONNECTIONS} kept connections`, value: spread(floors) }
  return [
    {
      name: 'pods-200',
      figure: `${PODS} pods by the agent's client: first call -> last created`,
      unit: 's',
      value: spread(pods),
      warmUp: 0,
      floor: post,
      goal: 0.8,
    },
    {
      name: 'attempts-200',
      figure: `${PODS} builds submitted at once -> the daemon pod of the last one is created, each with its Secret, claim and disk; nothing is scheduled`,
      unit: 's',
      value: made.seconds,
      warmUp: 0,
      floor: post,
    },
    {
      name: 'agent-200',
      figure: `resident memory of the agent with ${PODS} builds`,
      unit: 'MiB',
      value: made.rss,
      warmUp: 0,
      floor: bare,
      note: `${idle.toFixed(0)} MiB before them, peak ${made.peak.toFixed(0)} MiB`,
    },
  ]
}

function podNamed(name: string, namespace: string) {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, namespace, labels: { 'windlass-bench': 'many' } },
    spec: { schedulerName: 'none', containers: [{ name: 'none', image: pauseImage }] },
  }
}

async function clientPods(access: ClusterAccess, namespace: string): Promise<number> {
  const kube = openKube({ access, log: silentLog, qps: 200, burst: 400 })
  const startedAt = performance.now()
  await Promise.all(Array.from({ length: PODS }, (_, n) => kube.apply(podNamed(`many-${n}`, namespace), [])))
  const took = performance.now() - startedAt
  kube.close()
  return took / 1_000
}

async function rawPods(access: ClusterAccess, namespace: string): Promise<number> {
  const { ca, clientCert: cert, clientKey: key } = access
  const agent = new https.Agent({ keepAlive: true, maxSockets: CONNECTIONS, ca, cert, key })
  const url = new URL(`/api/v1/namespaces/${namespace}/pods`, access.server)
  const startedAt = performance.now()
  const post = async (n: number): Promise<void> => {
    const call = https.request(url, { agent, method: 'POST', headers: { 'content-type': 'application/json' } })
    call.end(JSON.stringify(podNamed(`many-${n}`, namespace)))
    const [response] = await once(call, 'response')
    response.resume()
    await once(response, 'end')
    if (response.statusCode !== 201) throw new Error(`a pod was answered with ${response.statusCode}`)
  }
  await Promise.all(Array.from({ length: PODS }, (_, n) => post(n)))
  agent.destroy()
  return (performance.now() - startedAt) / 1_000
}

async function noPods({ installation }: ProcessStack): Promise<void> {
  await installation.kubectl('delete', 'pods', '--selector', LABEL, '--grace-period=0', '--force', '--wait=false')
  await eventually('the pods are gone', async () => {
    const left = await installation.kubectl('get', 'pods', '--selector', LABEL, '--output', 'name')
    return left.trim() === '' ? true : undefined
  })
}

async function manyBuilds({
  installation,
  namespace,
  client,
}: ProcessStack): Promise<{ seconds: Spread; rss: Spread; peak: number }> {
  const scheduler = { schedulerName: 'none' }
  const body = {
    name: 'bench-many',
    type: 'kubernetes' as const,
    agent: 'one-node',
    spec: {
      // Pods without a scheduler would keep the others waiting for a minute.
      starts: { perCore: PODS },
      runtimeScheduler: { cluster: { namespace }, ...scheduler },
      dockerDaemonScheduler: { ...scheduler, pvcs: { dind: { storageClassName: `dind-local-volumes-runner-${namespace}` } } },
    },
  }
  await client.runtimes.create(body)
  const document = 'version: "1.0"\nsteps: {never: {image: none, commands: [echo never]}}\n'
  const startedAt = performance.now()
  const builds = await Promise.all(
    Array.from({ length: PODS }, () => client.builds.create({ document, runtime: 'bench-many' }, { idempotencyKey: false })),
  )
  const all = async (): Promise<true | undefined> => {
    const names = await installation.kubectl('get', 'pods', '--selector', 'codefresh-app=dind', '--output', 'name')
    return names.split('\n').length >= PODS ? true : undefined
  }
  await eventually('every build has its daemon pod', all, 120_000)
  const seconds = (performance.now() - startedAt) / 1_000
  const pid = installation.agent.pid()
  const rss = await rssMiB(pid)
  const peak = await peakRssMiB(pid)
  await Promise.all(builds.map(({ id }) => client.builds.terminate(id)))
  const gone = async (): Promise<true | undefined> =>
    (await installation.kubectl('get', 'pods', '--output', 'name')).trim() === '' ? true : undefined
  await eventually('all pods are gone', gone, 240_000)
  return { seconds: single(seconds), rss: single(rss), peak }
}
