/** Mutants of the limits of accounts, runtimes, pipelines, branches and triggers, and of the ages of retention. */
import type { Mutant } from './change.ts'
import type { History, Removal } from './history.ts'

export const limits: readonly Mutant[] = [
  {
    name: 'the limit of a pipeline is exceeded',
    invariant: 6,
    mutate: (h) => ({ ...h, limits: { ...h.limits, pipelines: { ...h.limits.pipelines, 'demo/a': 1 } } }),
  },
  {
    name: 'the capacity of a runtime is exceeded',
    invariant: 6,
    mutate: (h) => ({ ...h, limits: { ...h.limits, runtimes: { fake: 3 } } }),
  },
  {
    name: 'the limit of a branch is exceeded',
    invariant: 6,
    mutate: (h) => ({ ...h, limits: { ...h.limits, branches: { 'demo/a': 1 } } }),
  },
  {
    name: 'the limit of a trigger is exceeded',
    invariant: 6,
    mutate: (h) => ({ ...h, limits: { ...h.limits, triggers: { 'demo/b': 1 } } }),
  },
  { name: 'the limit of the account is exceeded', invariant: 6, mutate: (h) => ({ ...h, limits: { ...h.limits, account: 3 } }) },
]

function removal(history: History, kind: 'removed' | 'expired', change: Partial<Removal>): History {
  const { retention: trace } = history
  if (trace === undefined) return history
  return { ...history, retention: { ...trace, [kind]: trace[kind].map((one) => ({ ...one, ...change })) } }
}

export const retention: readonly Mutant[] = [
  {
    name: 'a build is deleted too early',
    invariant: 18,
    mutate: (h) => removal(h, 'removed', { finishedAt: 50_001 }),
  },
  {
    name: 'a live build is deleted',
    invariant: 18,
    mutate: (h) => removal(h, 'removed', { finishedAt: undefined, seenAt: 149_000 }),
  },
  { name: 'a log is deleted too early', invariant: 18, mutate: (h) => removal(h, 'expired', { finishedAt: 60_001 }) },
]
