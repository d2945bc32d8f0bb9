/** Every case of the conformance set on this machine's Docker. `WINDLASS_UPDATE_EVENTS=1` writes the lines of new cases. */
import { writeFileSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { eventsFile, readCases, readEvents } from './case.ts'
import { differences } from './judge.ts'
import { runCaseLocally } from './local.ts'
import { toLines } from './observed.ts'
import { openParts, type Parts } from './parts.ts'

const cases = readCases()
let parts: Parts
beforeAll(async () => {
  parts = await openParts()
})
afterAll(() => parts?.close())

test('the set has at least 150 cases', () => {
  expect(cases.length).toBeGreaterThanOrEqual(150)
})

describe.concurrent('on this machine', () => {
  test.for(cases.map((of) => [`${of.rows.join(' ')}: ${of.title} (${of.name})`, of] as const))('%s', async ([, of]) => {
    const seen = await runCaseLocally(of, parts)
    const log = [...seen.log].map(([step, text]) => `--- ${step}\n${text}`).join('\n')
    expect(differences(of, seen).join('\n'), `${toLines(seen)}\n${log}`).toBe('')
    const lines = toLines(seen)
    const before = readEvents(of)
    if (before === undefined && process.env['WINDLASS_UPDATE_EVENTS'] === '1') writeFileSync(eventsFile(of), lines)
    else expect(lines, 'what its steps did is written down in events.txt').toBe(before)
  })
})
