/** Mutants of the progress of unharmed builds, of the events of their steps, and of secrets in every encoding. */
import { build, changeBytes, engine, firstStream, isWhole, renumber, type Mutant } from './change.ts'
import type { BuildRecord, EngineTrace, History } from './history.ts'

/** The encodings of a secret by the programs that print it. */
const WRITINGS: Readonly<Record<string, (secret: string) => Buffer>> = {
  plain: (secret) => Buffer.from(secret),
  'in latin1': (secret) => Buffer.from(secret, 'latin1'),
  'in JSON': (secret) => Buffer.from(JSON.stringify(secret)),
  'in JSON of ASCII alone': (secret) => Buffer.from(JSON.stringify(secret).replaceAll('ü', () => String.raw`\u00fc`)),
  'in a URL': (secret) => Buffer.from(encodeURIComponent(secret)),
  'in a form': (secret) => Buffer.from(encodeURIComponent(secret).replaceAll('%20', '+')),
  'in base64 behind something': (secret) => Buffer.from(Buffer.from(`user:${secret}:x`).toString('base64')),
  'in base64 for URLs': (secret) => Buffer.from(Buffer.from(`~~${secret}`).toString('base64url')),
  'in hex': (secret) => Buffer.from(Buffer.from(secret).toString('hex')),
}

const names = ['an ASCII secret', 'a secret with an umlaut']

export const secrets: readonly Mutant[] = names.flatMap((name, n) =>
  Object.entries(WRITINGS)
    .flatMap(([writing, write]): Mutant[] => [
      {
        name: `${name} is in a log, ${writing}`,
        invariant: 10,
        mutate: (h) => build(h, (r) => changeBytes(r, firstStream, (b) => Buffer.concat([b, write(h.secrets[n] ?? '')]))),
      },
      {
        name: `${name} is in the log of a process, ${writing}`,
        invariant: 10,
        mutate: (h) => ({ ...h, texts: [{ where: 'server-0.log', text: write(h.secrets[n] ?? '').toString('latin1') }] }),
      },
      {
        name: `${name} is in an event, ${writing}`,
        invariant: 10,
        mutate: (h) => build(h, (r) => putIntoEvents(r, write(h.secrets[n] ?? '').toString('utf8'))),
      },
    ])
    .filter(({ name: mutant }) => !/in an event, in latin1/.test(mutant)),
)

function putIntoEvents(record: Parameters<Parameters<typeof build>[1]>[0], value: string): void {
  record.feed = record.feed.map((item) =>
    item.kind === 'event' && item.type === 'step.finished' ? { ...item, data: { ...item.data, value } } : item,
  )
}

const isSuccess = ({ status }: BuildRecord): boolean => status === 'success'
const isStepEvent = (item: BuildRecord['feed'][number]): boolean => item.kind === 'event' && item.type.startsWith('step.')

/** Turns every success into a loss without a cause. All records agree except the list of harms. */
function loseEverything(h: History): History {
  const ids = new Set(h.builds.filter(isSuccess).map(({ id }) => id))
  const lose = (record: BuildRecord): BuildRecord => ({
    ...record,
    status: 'error',
    reason: 'engine-lost',
    attempts: record.attempts.map((attempt) => ({ ...attempt, result: 'lost', reason: 'engine-lost' })),
  })
  const kill = (trace: EngineTrace): EngineTrace => {
    const { outcome, ...rest } = trace
    return outcome === undefined ? trace : { ...rest, end: 'killed' }
  }
  return {
    ...h,
    builds: h.builds.map((record) => (ids.has(record.id) ? lose(record) : record)),
    engines: h.engines.map((trace) => (ids.has(trace.buildId) ? kill(trace) : trace)),
    sightings: h.sightings.map((seen) =>
      ids.has(seen.buildId) && seen.status === 'success' ? { ...seen, status: 'error' } : seen,
    ),
  }
}

export const progress: readonly Mutant[] = [
  { name: 'every success becomes engine-lost without a kill', invariant: 15, mutate: loseEverything },
  {
    name: 'an unharmed build ends with an infrastructure reason',
    invariant: 15,
    mutate: (h) => build(h, (r) => Object.assign(r, { status: 'error', reason: 'start-timeout' })),
  },
  {
    name: 'a build is terminated without a cancel',
    invariant: 15,
    mutate: (h) => build(h, (r) => Object.assign(r, { status: 'terminated', reason: 'inactive' })),
  },
  {
    name: 'a failing step counts as success',
    invariant: 15,
    mutate: (h) => engine(h, (t) => (t.steps = t.steps.map((step) => ({ ...step, verdict: 'error' }))), isWhole),
  },
  {
    name: 'a build succeeds without its last step',
    invariant: 15,
    mutate: (h) =>
      engine(
        h,
        (t) => {
          t.steps = t.steps.slice(0, -1)
          t.told = (t.told ?? []).slice(0, -2)
        },
        isWhole,
      ),
  },
  {
    name: 'an unharmed engine is declared lost, and its build continues',
    invariant: 16,
    mutate: (h) => ({ ...h, harms: [] }),
  },
  {
    name: 'five attempts are lost without a cause',
    invariant: 16,
    mutate: (h) =>
      build(h, (r) => {
        const lost = { status: 'ended', result: 'lost', reason: 'engine-lost' } as const
        r.attempts = [...r.attempts, ...Array.from({ length: 5 }, (_, n) => ({ ...lost, number: n + 2 }))]
      }),
  },
  {
    name: 'the kill of another build explains a loss',
    invariant: 16,
    mutate: (h) => ({ ...h, harms: (h.harms ?? []).map((harm) => ({ ...harm, buildId: 'f'.repeat(24) })) }),
  },
  {
    name: 'a build gets one more attempt without a cause',
    invariant: 16,
    mutate: (h) =>
      build(h, (r) => (r.attempts = [...r.attempts, { number: r.attempts.length + 1, status: 'ended', result: 'success' }])),
  },
  {
    name: 'the feed of a build has no event of any step',
    invariant: 17,
    mutate: (h) => build(h, (r) => (r.feed = renumber(r.feed.filter((item) => !isStepEvent(item))))),
  },
  {
    name: 'the start of one step is missing',
    invariant: 17,
    mutate: (h) => build(h, (r) => (r.feed = renumber(r.feed.toSpliced(r.feed.findIndex(isStepEvent), 1)))),
  },
  {
    name: 'an event is stored twice',
    invariant: 17,
    mutate: (h) => build(h, (r) => (r.feed = renumber(r.feed.flatMap((item) => (isStepEvent(item) ? [item, item] : [item]))))),
  },
  {
    name: 'the end of a step is stored with another status',
    invariant: 17,
    mutate: (h) =>
      build(
        h,
        (r) =>
          (r.feed = r.feed.map((item) =>
            item.kind === 'event' && item.type === 'step.finished'
              ? { ...item, data: { ...item.data, status: 'skipped' } }
              : item,
          )),
      ),
  },
  {
    name: 'an acknowledged event of a lost attempt is gone',
    invariant: 17,
    mutate: (h) =>
      build(
        h,
        (r) => {
          const at = r.feed.findIndex((item) => isStepEvent(item) && item.attempt === 1)
          r.feed = renumber(r.feed.toSpliced(at, 1))
        },
        ({ attempts }) => attempts.length > 1,
      ),
  },
]
