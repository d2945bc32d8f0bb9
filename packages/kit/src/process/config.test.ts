import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { z } from 'zod'
import { readConfig } from './config.ts'
import { Secret } from '../secret.ts'

const Settings = z.object({ PORT: z.coerce.number().int().default(8080), TOKEN: z.string() })

test('reads settings from the environment, applies defaults and freezes the result', () => {
  const settings = readConfig(Settings, { X_TOKEN: 'abc', OTHER: '1', X_PORT: '' }, 'X_')
  expect(settings).toEqual({ PORT: 8080, TOKEN: 'abc' })
  expect(Object.isFrozen(settings)).toBe(true)
})

test('reads a value from a mounted file', () => {
  const folder = mkdtempSync(join(tmpdir(), 'kit-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const path = join(folder, 'token')
  writeFileSync(path, 'from a file\n')
  expect(readConfig(Settings, { X_TOKEN_FILE: path }, 'X_').TOKEN).toBe('from a file')
})

test('names every invalid key in one error, and a file that cannot be read', () => {
  expect(() => readConfig(Settings, { X_PORT: 'many' }, 'X_')).toThrow(/X_PORT.*X_TOKEN/)
  expect(() => readConfig(Settings, { X_TOKEN_FILE: '/nowhere/token' }, 'X_')).toThrow(/X_TOKEN_FILE.*\/nowhere\/token/)
})

test('a secret prints as [secret] and reveals its value on request', () => {
  const secret = new Secret('hunter2')
  expect([JSON.stringify({ secret }), String(secret), secret.reveal()]).toEqual(['{"secret":"[secret]"}', '[secret]', 'hunter2'])
})
