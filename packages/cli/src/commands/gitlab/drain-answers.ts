/** What managers of GitLab runners answer while they are drained, and when they are done. Pure. */
import { isFault } from '@windlass/kit'
import { fault } from '@windlass/kit/faults'

export type Answer =
  /** The manager asks for jobs, or has jobs. */
  | { readonly type: 'busy'; readonly jobs: readonly string[] }
  /** It has neither jobs nor objects in the cluster. */
  | { readonly type: 'parked' }
  /** Its pod or container does not exist any more. */
  | { readonly type: 'gone' }
  /** The container runs, and no process listens on the port. A manager that registers its runner does not listen yet. */
  | { readonly type: 'refused' }
  /** It did not answer in time. It may have jobs. */
  | { readonly type: 'silent'; readonly why: string }

const WORDS = { parked: 'the manager is parked', busy: 'the manager is ready', refused: 'connection refused' } as const
/** Longest wait for an answer of the process. Milliseconds. */
const ANSWER_MS = 5_000

/** Returns the program for Node that asks a manager in its pod for its jobs, and prints what `readAnswer` reads. */
export function askProgram(port: number): string {
  const base = `http://127.0.0.1:${port}`
  return (
    `const get = (path) => fetch('${base}' + path, { signal: AbortSignal.timeout(${ANSWER_MS}) });` +
    `try { const list = await get('/debug/jobs/list').then((answer) => answer.text()); const ready = await get('/health/ready');` +
    `console.log(list + (ready.ok ? '${WORDS.busy}' : '${WORDS.parked}')) }` +
    `catch (error) { console.log(error.cause?.code === 'ECONNREFUSED' ? '${WORDS.refused}' : String(error.cause ?? error)) }`
  )
}

/** Reads the output of the program. */
export function readAnswer(output: string): Answer {
  const text = output.trim()
  if (text.endsWith(WORDS.parked)) return { type: 'parked' }
  if (text.endsWith(WORDS.busy)) return { type: 'busy', jobs: [...text.matchAll(/^id=(\d+)/gm)].map(([, id = '']) => id) }
  if (text === WORDS.refused) return { type: 'refused' }
  return { type: 'silent', why: text === '' ? 'the command in its container printed nothing' : (text.split('\n')[0] ?? '') }
}

/** Messages of the cluster for a container that has ended, by the runtimes of containers. */
const ENDED =
  /container not found|no such container|not running|is not created|has exited|stopped container|CONTAINER_EXITED|completed pod|task \S+ not found/i

/** Returns the answer that an error of the cluster stands for. Throws errors that are final, such as missing rights. */
export function answerOf(error: unknown): Answer {
  if (isFault(error, 'not-found')) return { type: 'gone' }
  if (!isFault(error, 'cluster-refused') && !isFault(error, 'cluster-unreachable')) throw error
  const { message: why, details } = error
  if (ENDED.test(why)) return { type: 'refused' }
  if (details['httpStatus'] === 401 || details['httpStatus'] === 403) throw error
  return { type: 'silent', why }
}

export interface Place {
  readonly namespace: string
  readonly pod: string
}

export interface Progress {
  /** True if no manager can have a job. */
  readonly isDone: boolean
  /** IDs of the jobs that run. */
  readonly jobs: readonly string[]
}

/** Answers in a row after which a manager that refuses connections does not run, and one that is silent is a failure. */
const MAX_REFUSED = 10
const MAX_SILENT = 10

/** Follows the answers of managers. Throws `wait-timeout` for a manager that does not answer. */
export class DrainProgress {
  /** By pod: the type of the last answers, and their number. */
  readonly #rows = new Map<string, { readonly type: Answer['type']; readonly count: number }>()

  /** Takes one answer of each manager. */
  learn(answers: readonly (readonly [Place, Answer])[]): Progress {
    for (const [place, answer] of answers) this.#count(place, answer)
    return {
      isDone: answers.every(([{ pod }, { type }]) => {
        if (type === 'refused') return (this.#rows.get(pod)?.count ?? 0) >= MAX_REFUSED
        return type === 'parked' || type === 'gone'
      }),
      jobs: answers.flatMap(([, answer]) => (answer.type === 'busy' ? answer.jobs : [])),
    }
  }

  #count({ namespace, pod }: Place, answer: Answer): void {
    const { type } = answer
    const before = this.#rows.get(pod)
    const count = before?.type === type ? before.count + 1 : 1
    this.#rows.set(pod, { type, count })
    if (answer.type !== 'silent' || count < MAX_SILENT) return
    throw fault('wait-timeout', {
      message: `The manager in the pod ${namespace}/${pod} does not answer, so it may have jobs: ${answer.why}.`,
      hint: `See \`kubectl --namespace ${namespace} logs ${pod}\`. Restart the pod if it hangs, then run the command again.`,
    })
  }
}
