import { expect, test } from 'vitest'
import { REPORTER_SILENT_MS } from '@windlass/protocol'
import { isLate, type Known, type Reported } from './order.ts'

const known: Known = { uid: 'a', version: '10', reportedAt: 1_000, createdAt: 500, end: undefined }
/** Read so long after the known report that the versions of one cluster would be higher. */
const afterSilence = known.reportedAt + REPORTER_SILENT_MS + 1
const reported: Reported = { uid: 'a', version: '10', at: 1_000, createdAt: 500 }

test.each<[string, Partial<Known>, Partial<Reported>, boolean]>([
  ['the same report', {}, {}, true],
  ['a later version, which has more digits', { version: '9' }, { version: '10' }, false],
  ['an earlier version that was read later', {}, { version: '9', at: 9_000 }, true],
  ['a later version that was read earlier', {}, { version: '11', at: 1 }, false],
  ['the same version, read later', {}, { at: 1_001 }, false],
  ['versions that are not comparable', { version: 'x' }, { version: 'y', at: 999 }, true],
  ['a deletion without a version', {}, { version: undefined, createdAt: undefined, at: 1_001 }, false],
  ['a state after the deletion', { end: 'deleted' }, { version: '99', at: 9_000 }, true],
  ['a state after a full state without it', { end: 'unlisted' }, { version: '11', at: 1_001 }, false],
  ['an object that was created later', {}, { uid: 'b', version: '1', createdAt: 501 }, false],
  ['an object that was created earlier', {}, { uid: 'b', version: '99', createdAt: 499, at: 9_000 }, true],
  ['an object that was created after the deletion', { end: 'deleted' }, { uid: 'b', version: '11', createdAt: 501 }, false],
  ['an object that was created in the same second', {}, { uid: 'b', version: '11' }, false],
  ['the deletion of another object', {}, { uid: 'b', version: undefined, createdAt: undefined, at: 9_000 }, true],
  ['an older object of another cluster', {}, { uid: 'b', version: '1', createdAt: 1, at: afterSilence }, false],
  ['an older object of another cluster, too soon', {}, { uid: 'b', version: '1', createdAt: 1, at: afterSilence - 1 }, true],
  ['a lower version of a restored cluster', {}, { version: '9', at: afterSilence }, false],
  ['a deletion of another object, without its times', {}, { uid: 'b', createdAt: undefined, at: afterSilence }, true],
  ['a state long after the deletion', { end: 'deleted' }, { version: '99', at: afterSilence }, true],
])('%s', (_, before, after, isExpected) => {
  expect(isLate({ ...known, ...before }, { ...reported, ...after })).toBe(isExpected)
})
