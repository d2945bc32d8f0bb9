import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { readConfig } from './config.ts'
import { Secret } from './secret.ts'

const Settings = z.object({ PORT: z.coerce.number().int().default(8080), TOKEN: z.string() })

test('settings come from the environment, with defaults, and are frozen', () => {
  const settings = readConfig(Settings, { X_TOKEN: 'abc', OTHER: '1', X_PORT: '' }, 'X_')
  expect(settings).toEqual({ PORT: 8080, TOKEN: 'abc' })
  expect(Object.isFrozen(settings)).toBe(true)
})

test('a value may stand in a mounted file', () => {
  const path = join(mkdtempSync(join(tmpdir(), 'kit-')), 'token')
  writeFileSync(path, 'from a file\n')
  expect(readConfig(Settings, { X_TOKEN_FILE: path }, 'X_').TOKEN).toBe('from a file')
})

test('every wrong key is named at once, and so is a file that cannot be read', () => {
  expect(() => readConfig(Settings, { X_PORT: 'many' }, 'X_')).toThrow(/X_PORT.*X_TOKEN/)
  expect(() => readConfig(Settings, { X_TOKEN_FILE: '/nowhere/token' }, 'X_')).toThrow(/X_TOKEN_FILE.*\/nowhere\/token/)
})

test('a secret shows its value to nobody who does not ask for it', () => {
  const secret = new Secret('hunter2')
  expect([JSON.stringify({ secret }), String(secret), secret.reveal()]).toEqual(['{"secret":"[secret]"}', '[secret]', 'hunter2'])
})
