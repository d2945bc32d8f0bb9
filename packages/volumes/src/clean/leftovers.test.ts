import { expect, test } from 'vitest'
import { leftoverReason, type BuildObject } from './leftovers.ts'

const NOW = 1_800_000_000_000
const MINUTE = 60_000
const HOUR = 60 * MINUTE

function object(kind: BuildObject['kind'], ageMs: number, fields: Partial<BuildObject> = {}): BuildObject {
  return {
    kind,
    uid: `${kind}-${ageMs}`,
    attempt: 'b/1',
    createdAt: NOW - ageMs,
    endedAt: undefined,
    isBound: kind === 'claim',
    expiresAt: undefined,
    keptUntil: undefined,
    ...fields,
  }
}

const engine = object('engine', HOUR)
const dind = object('dind', HOUR)

test.each([
  ['a daemon without engine for 10 minutes', object('dind', 10 * MINUTE), [], undefined],
  ['a daemon without engine for longer', object('dind', 11 * MINUTE), [], 'dind-without-engine'],
  ['a daemon with its engine', object('dind', 11 * MINUTE), [engine], undefined],
  [
    'a daemon with the engine of another attempt',
    object('dind', 11 * MINUTE),
    [{ ...engine, attempt: 'b/2' }],
    'dind-without-engine',
  ],
  ['a claim without daemon for an hour', object('claim', HOUR), [engine], undefined],
  ['a claim without daemon for longer', object('claim', HOUR + 1), [engine], 'claim-without-dind'],
  ['a claim with its daemon', object('claim', 2 * HOUR), [dind], undefined],
  ['a claim that is kept for approval', object('claim', 99 * HOUR, { keptUntil: NOW + 1 }), [], undefined],
  ['a claim that was never bound', object('claim', 99 * HOUR, { isBound: false }), [], undefined],
  ['an engine that ended three hours ago', object('engine', 9 * HOUR, { endedAt: NOW - 3 * HOUR }), [dind], undefined],
  ['an engine that ended earlier', object('engine', 9 * HOUR, { endedAt: NOW - 3 * HOUR - 1 }), [dind], 'engine-completed'],
  ['a daemon that runs for a day', object('dind', 24 * HOUR), [engine], undefined],
  ['a daemon that runs for longer', object('dind', 25 * HOUR), [engine], 'dind-too-old'],
  ['a daemon that may run for two days', object('dind', 25 * HOUR, { expiresAt: NOW + 1 }), [engine], undefined],
  ['an engine that runs for three days', object('engine', 72 * HOUR), [dind], undefined],
  ['an engine that runs for longer', object('engine', 73 * HOUR), [dind], 'engine-too-old'],
  ['a claim that is bound for longer than three days', object('claim', 73 * HOUR), [dind], 'claim-too-old'],
  ['a claim whose build may run for a week', object('claim', 73 * HOUR, { expiresAt: NOW + 1 }), [dind], undefined],
  ['an object of the future, by a wrong clock', object('dind', -HOUR), [], undefined],
] as const)('%s (R211)', (_, one, others, reason) => {
  expect(leftoverReason(one, [one, ...others], NOW)).toBe(reason)
})
