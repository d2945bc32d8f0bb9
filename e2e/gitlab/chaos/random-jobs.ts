/** Jobs of random kinds whose output is known before they run. */
import type { Random } from '../../chaos/faults/random.ts'
import type { Expected, Harm } from './history.ts'
import { BEGIN, END } from './trace-text.ts'

export interface ChaosJob {
  readonly kind: string
  readonly script: readonly string[]
  readonly secret: string
  readonly expected: Expected
  /** Field `artifacts` of the payload. */
  readonly artifacts: readonly object[]
  /** What is done to the job some time after its script has begun. */
  readonly harm: { readonly type: Harm['type']; readonly afterMs: number } | undefined
  /** True if it runs in the other namespace. */
  readonly isElsewhere: boolean
}

interface Work {
  readonly commands: readonly string[]
  readonly output: string
  readonly exitCode?: number
  readonly artifact?: { readonly name: string; readonly content: string }
  readonly harm?: Harm['type']
}

const MASKED = '[MASKED]'
const lines = (count: number, text: (n: number) => string): string =>
  Array.from({ length: count }, (_, n) => `${text(n + 1)}\n`).join('')

/** Prints numbered lines with a pause after each. */
function counting(random: Random, seconds: readonly [number, number]): Pick<Work, 'commands' | 'output'> {
  const pauseMs = random.between(50, 200)
  const count = Math.round((random.between(...seconds) * 1_000) / pauseMs)
  return {
    commands: [`for n in $(seq 1 ${count}); do echo "line $n"; sleep ${pauseMs / 1_000}; done`],
    output: lines(count, (n) => `line ${n}`),
  }
}

const WORKS: Readonly<Record<string, (random: Random, id: number) => Work>> = {
  short: (_, id) => ({ commands: [`echo "job ${id} with $JOB_SECRET"`], output: `job ${id} with ${MASKED}\n` }),
  slow: (random) => counting(random, [5, 20]),
  long(random, id) {
    const [bursts, count] = [random.between(2, 5), random.between(400, 1_200)]
    const burst = `for n in $(seq 1 ${count}); do case $n in *0) echo "line $n of ${id}: $JOB_SECRET";; *) echo "line $n of ${id}";; esac; done`
    return {
      commands: Array.from({ length: bursts }, () => `${burst}; sleep 1`),
      output: lines(count, (n) => (n % 10 === 0 ? `line ${n} of ${id}: ${MASKED}` : `line ${n} of ${id}`)).repeat(bursts),
    }
  },
  silent: (random) => ({ commands: [`sleep ${random.between(5, 15)}`, 'echo awake'], output: 'awake\n' }),
  pieces: () => ({
    commands: [
      'for p in 10 50 100; do printf "progress %s\\r" $p; sleep 0.3; done; echo',
      // The secret comes in two pieces.
      'printf "in pieces: %s" "${JOB_SECRET%??????}"; sleep 0.5; echo "${JOB_SECRET#"${JOB_SECRET%??????}"}"',
    ],
    output: `progress 10\rprogress 50\rprogress 100\r\nin pieces: ${MASKED}\n`,
  }),
  failing: (random) => ({ ...counting(random, [1, 4]), exitCode: random.between(1, 120) }),
  artifact(random, id) {
    const count = random.between(10, 3_000)
    return {
      commands: [`seq 1 ${count} >result-${id}.txt`, 'sleep 2'],
      output: '',
      artifact: { name: `result-${id}.txt`, content: lines(count, String) },
    }
  },
  canceled: (random) => ({ ...counting(random, [40, 60]), harm: 'canceling' }),
  aborted: (random) => ({ ...counting(random, [40, 60]), harm: 'aborted' }),
  deleted: (random) => ({ ...counting(random, [40, 60]), harm: 'pod-deleted' }),
}

const KINDS = Object.keys(WORKS)

/** Returns `count` jobs, with each kind at least once if there are enough. `report` is the first command of each. */
export function randomJobs(random: Random, ids: readonly number[], report: (id: number) => string): ChaosJob[] {
  const order = KINDS.map((kind) => ({ kind, at: random.next() })).toSorted((a, b) => a.at - b.at)
  return ids.map((id, n) => jobOf(order[n]?.kind ?? random.pick(KINDS), id, random.fork(`job ${id}`), report))
}

function jobOf(kind: string, id: number, random: Random, report: (id: number) => string): ChaosJob {
  const work = WORKS[kind]?.(random, id)
  if (work === undefined) throw new Error(`no job of the kind ${kind}`)
  const { commands, output, exitCode = 0, artifact, harm } = work
  return {
    kind,
    script: [report(id), `echo "${BEGIN}"`, ...commands, `echo "${END}"`, ...(exitCode === 0 ? [] : [`exit ${exitCode}`])],
    secret: `Secret-${random.between(1_000_000, 9_999_999)}-of-${id}`,
    expected: { output, exitCode, artifact },
    artifacts: artifact === undefined ? [] : [{ name: 'result', paths: [artifact.name], when: 'on_success' }],
    harm: harm === undefined ? undefined : { type: harm, afterMs: random.between(500, 6_000) },
    isElsewhere: random.chance(0.4),
  }
}
