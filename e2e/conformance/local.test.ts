/** Runs every case of the conformance set on local Docker. `WINDLASS_UPDATE_EVENTS=1` records the events of new cases. */
import { writeFileSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { eventsFile, readCases, readEvents } from './case.ts'
import { differences } from './differences.ts'
import { runCaseLocally } from './local.ts'
import { toLines } from './observed.ts'
import { startServices, type TestServices } from './services.ts'

const cases = readCases()
let services: TestServices
beforeAll(async () => {
  services = await startServices()
})
afterAll(() => services?.close())

test('has at least 150 cases', () => {
  expect(cases.length).toBeGreaterThanOrEqual(150)
})

describe.concurrent('on this machine', () => {
  test.for(cases.map((of) => [`${of.title}, ${of.name} (${of.rows.join(', ')})`, of] as const))('%s', async ([, of]) => {
    const seen = await runCaseLocally(of, services)
    const log = [...seen.log].map(([step, text]) => `--- ${step}\n${text}`).join('\n')
    expect(differences(of, seen).join('\n'), `${toLines(seen)}\n${log}`).toBe('')
    const lines = toLines(seen)
    const before = readEvents(of)
    if (before === undefined && process.env['WINDLASS_UPDATE_EVENTS'] === '1') writeFileSync(eventsFile(of), lines)
    else expect(lines, 'the events recorded in events.txt').toBe(before)
  })
})
