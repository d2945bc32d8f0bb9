/** Runs `gitlab drain`: tells managers in a cluster to ask for no more jobs, and waits for those that run. */
import { text } from 'node:stream/consumers'
import { METRICS_PORT } from '@windlass/gitlab'
import { openLog, systemClock } from '@windlass/kit'
import { fault } from '@windlass/kit/faults'
import { accessOf, openKube, type Kube, type ObjectRef } from '@windlass/kube'
import { z } from 'zod'
import type { Invocation } from '../../command.ts'
import { answerOf, askProgram, DrainProgress, readAnswer, type Answer, type Place } from './drain-answers.ts'

interface DrainOptions {
  readonly namespace: string | undefined
  readonly selector: string | undefined
  readonly port: number | undefined
}

/** Time between two looks at the jobs. Milliseconds. */
const LOOK_MS = 2_000
/** Longest time of a command in a container. Milliseconds. */
const COMMAND_MS = 30_000
const CONTAINER = 'gitlab-runner'

/** Runs the command. Throws `wait-timeout` for a manager that does not answer, and faults of the cluster. */
export async function drain({ options, out, settings }: Invocation<DrainOptions>): Promise<void> {
  const { environment, debug } = settings
  if (options.selector === undefined)
    throw fault('usage', { message: 'No managers were named.', hint: 'Add --selector, such as release=gitlab-runner.' })
  const access = await accessOf(environment['KUBECONFIG'], { environment, setting: 'KUBECONFIG' })
  const kube = openKube({ access, log: openLog({ level: debug ? 'debug' : 'warn', name: 'drain' }) })
  try {
    const namespace = options.namespace ?? access.namespace
    const pods = await running(kube, namespace, options.selector)
    const told = await Promise.all(pods.map((pod) => inManager(kube, pod, ['/bin/sh', '-c', 'kill -USR2 1'])))
    const { length: count } = told.filter((answer) => typeof answer === 'string')
    out.note(count === 1 ? '1 manager asks for no more jobs.' : `${count} managers ask for no more jobs.`)
    const command = ['node', '--input-type=module', '-e', askProgram(options.port ?? METRICS_PORT)]
    const progress = new DrainProgress()
    for (let shown = ''; ;) {
      const answers = await Promise.all(
        pods.map(async (pod): Promise<readonly [Place, Answer]> => {
          const output = await inManager(kube, pod, command)
          return [{ namespace, pod: pod.name }, typeof output === 'string' ? readAnswer(output) : output]
        }),
      )
      const { isDone, jobs } = progress.learn(answers)
      if (isDone) break
      if (jobs.length === 0) {
        await systemClock.sleep(LOOK_MS / 4)
        continue
      }
      const line = `Waiting for ${jobs.length === 1 ? 'the job' : `${jobs.length} jobs:`} ${jobs.join(', ')}.`
      if (line !== shown) out.note(line)
      shown = line
      await systemClock.sleep(LOOK_MS)
    }
    out.note('No job runs.')
  } finally {
    kube.close()
  }
}

const Pod = z.looseObject({ status: z.looseObject({ phase: z.string().optional() }).optional() })

async function running(kube: Kube, namespace: string, labels: string): Promise<ObjectRef[]> {
  const pods = await kube.list({ kind: 'Pod', namespace, labels })
  return pods
    .filter((pod) => pod.metadata.deletionTimestamp === undefined && Pod.parse(pod).status?.phase === 'Running')
    .map(({ metadata }) => ({ kind: 'Pod', name: metadata.name, namespace }))
}

/** Runs a command in a manager. Returns its output, or what an error of the cluster says about the manager. Throws other faults of the cluster. */
async function inManager(kube: Kube, pod: ObjectRef, command: readonly string[]): Promise<string | Answer> {
  const signal = AbortSignal.timeout(COMMAND_MS)
  try {
    const { stdout, stderr, exit } = await kube.exec(pod, { container: CONTAINER, command, signal })
    const [output] = await Promise.all([text(stdout), text(stderr), exit])
    return output
  } catch (error) {
    if (signal.aborted) return { type: 'silent', why: `the command in its container took longer than ${COMMAND_MS / 1_000} s` }
    return answerOf(error)
  }
}
