/** Runs `gitlab drain`: tells managers in a cluster to ask for no more jobs, and waits for those that run. */
import { text } from 'node:stream/consumers'
import { METRICS_PORT } from '@windlass/gitlab'
import { isFault, openLog, systemClock } from '@windlass/kit'
import { fault } from '@windlass/kit/faults'
import { accessOf, openKube, type Kube, type ObjectRef } from '@windlass/kube'
import { z } from 'zod'
import type { Invocation } from '../../command.ts'

interface DrainOptions {
  readonly namespace: string | undefined
  readonly selector: string | undefined
  readonly port: number | undefined
}

/** Time between two looks at the jobs. Milliseconds. */
const LOOK_MS = 2_000
const CONTAINER = 'gitlab-runner'

/** Runs the command. */
export async function drain({ options, out, settings }: Invocation<DrainOptions>): Promise<void> {
  const { environment, debug } = settings
  if (options.selector === undefined)
    throw fault('usage', { message: 'No managers were named.', hint: 'Add --selector, such as release=gitlab-runner.' })
  const access = await accessOf(environment['KUBECONFIG'], { environment, setting: 'KUBECONFIG' })
  const kube = openKube({ access, log: openLog({ level: debug ? 'debug' : 'warn', name: 'drain' }) })
  try {
    const namespace = options.namespace ?? access.namespace
    const pods = await running(kube, namespace, options.selector)
    for (const pod of pods) await inManager(kube, pod, ['/bin/sh', '-c', 'kill -USR2 1'])
    out.note(pods.length === 1 ? '1 manager asks for no more jobs.' : `${pods.length} managers ask for no more jobs.`)
    const script = askScript(options.port ?? METRICS_PORT)
    let silent = 0
    for (let told = ''; ;) {
      const answers = await Promise.all(pods.map((pod) => inManager(kube, pod, ['node', '--input-type=module', '-e', script])))
      const jobs = answers.flatMap((answer = '') => [...answer.matchAll(/^id=(\d+)/gm)].map(([, id]) => id ?? ''))
      silent = answers.includes('') ? silent + 1 : 0
      // A manager that has not begun yet gives no answer.
      const isDone = (answer: string | undefined): boolean =>
        answer === undefined || answer.includes(PARKED) || (answer === '' && silent >= MAX_SILENT)
      if (answers.every(isDone)) break
      if (jobs.length === 0) {
        await systemClock.sleep(LOOK_MS / 4)
        continue
      }
      const line = `Waiting for ${jobs.length === 1 ? 'the job' : `${jobs.length} jobs:`} ${jobs.join(', ')}.`
      if (line !== told) out.note(line)
      told = line
      await systemClock.sleep(LOOK_MS)
    }
    out.note('No job runs.')
  } finally {
    kube.close()
  }
}

/** What the script prints for a manager that has neither jobs nor objects in the cluster. */
const PARKED = 'the manager is parked'
/** Answers in a row without a word, after which no manager runs in a pod. */
const MAX_SILENT = 10

/** Returns the script that asks a manager in its pod for its jobs. */
function askScript(port: number): string {
  const base = `http://127.0.0.1:${port}`
  return (
    `const list = await fetch('${base}/debug/jobs/list').then((a) => a.text());` +
    `const ready = await fetch('${base}/health/ready');console.log(list + (ready.ok ? 'the manager is ready' : '${PARKED}'))`
  )
}

const Pod = z.looseObject({ status: z.looseObject({ phase: z.string().optional() }).optional() })

async function running(kube: Kube, namespace: string, labels: string): Promise<ObjectRef[]> {
  const pods = await kube.list({ kind: 'Pod', namespace, labels })
  return pods
    .filter((pod) => pod.metadata.deletionTimestamp === undefined && Pod.parse(pod).status?.phase === 'Running')
    .map(({ metadata }) => ({ kind: 'Pod', name: metadata.name, namespace }))
}

/** Runs a command in a manager. Returns its output, which is empty if it cannot run; undefined if the pod is gone. */
async function inManager(kube: Kube, pod: ObjectRef, command: readonly string[]): Promise<string | undefined> {
  try {
    const { stdout, stderr, exit } = await kube.exec(pod, { container: CONTAINER, command })
    const [output] = await Promise.all([text(stdout), text(stderr), exit])
    return output
  } catch (error) {
    if (isFault(error, 'not-found')) return undefined
    if (isFault(error, 'cluster-refused')) return ''
    throw error
  }
}
