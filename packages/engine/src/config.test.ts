import { expect, test } from 'vitest'
import { readSettings } from './config.ts'

const needed = { WINDLASS_ENGINE_SERVER_URL: 'http://server', WINDLASS_ENGINE_BOOTSTRAP: 'x' }

test('reads the hold time of debug runs in minutes and ignores an invalid value (R196)', () => {
  expect(readSettings({ ...needed, DEBUGGER_TIMEOUT: '14' }).debugTimeoutMs).toBe(840_000)
  expect(readSettings(needed).debugTimeoutMs).toBeUndefined()
  expect(readSettings({ ...needed, DEBUGGER_TIMEOUT: 'soon' }).debugTimeoutMs).toBeUndefined()
})
