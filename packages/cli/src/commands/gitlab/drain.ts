/** Runs `gitlab drain`: tells managers in a cluster to ask for no more jobs, and waits for those that run. */
import { text } from 'node:stream/consumers'
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
const PORT = 9252
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
    const script = askScript(options.port ?? PORT)
    for (let told = ''; ;) {
      const answers = await Promise.all(pods.map((pod) => inManager(kube, pod, ['node', '--input-type=module', '-e', script])))
      const jobs = answers.flatMap((answer) => [...answer.matchAll(/^id=(\d+)/gm)].map(([, id]) => id ?? ''))
      if (answers.every((answer) => !answer.includes(READY))) break
      if (jobs.length === 0) {
        await systemClock.sleep(LOOK_MS / 10)
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

/** What the script prints for a manager that still has jobs or objects in the cluster. */
const READY = 'the manager is ready'

/** Returns the script that asks a manager in its pod for its jobs. */
function askScript(port: number): string {
  const base = `http://127.0.0.1:${port}`
  return (
    `const list = await fetch('${base}/debug/jobs/list').then((a) => a.text());` +
    `const ready = await fetch('${base}/health/ready');console.log(list + (ready.ok ? '${READY}' : ''))`
  )
}

const Pod = z.looseObject({ status: z.looseObject({ phase: z.string().optional() }).optional() })

async function running(kube: Kube, namespace: string, labels: string): Promise<ObjectRef[]> {
  const pods = await kube.list({ kind: 'Pod', namespace, labels })
  return pods
    .filter((pod) => pod.metadata.deletionTimestamp === undefined && Pod.parse(pod).status?.phase === 'Running')
    .map(({ metadata }) => ({ kind: 'Pod', name: metadata.name, namespace }))
}

/** Runs a command in a manager. Returns its output; nothing if the pod is gone or the manager does not run in it. */
async function inManager(kube: Kube, pod: ObjectRef, command: readonly string[]): Promise<string> {
  try {
    const { stdout, stderr, exit } = await kube.exec(pod, { container: CONTAINER, command })
    const [output] = await Promise.all([text(stdout), text(stderr), exit])
    return output
  } catch (error) {
    if (isFault(error, 'not-found') || isFault(error, 'cluster-refused')) return ''
    throw error
  }
}
