/** A web page can load the client: nothing that it imports needs Node. */
import { readFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { importsOf } from '../../../scripts/check-imports.ts'

const packages = resolve(import.meta.dirname, '../..')
const Manifest = z.object({ exports: z.record(z.string(), z.string()) })
/** Libraries that run in browsers. */
const LIBRARIES = ['zod']
const NODE_GLOBALS = /\b(?:Buffer|process|require|__dirname|setImmediate)\b(?=[.(])/

/** Returns the file of `@windlass/name/entry`. */
function entryOf(specifier: string): string {
  const [, name = '', ...rest] = specifier.split('/')
  const { exports } = Manifest.parse(JSON.parse(readFileSync(join(packages, name, 'package.json'), 'utf8')))
  return join(packages, name, exports[['.', ...rest].join('/')] ?? '')
}

/** Adds the problems of a file and of what it imports. */
function visit(file: string, from: string, found: Map<string, string[]>): void {
  if (found.has(file)) return
  const text = readFileSync(file, 'utf8').replaceAll(/\/\*[\s\S]*?\*\/|^\s*\/\/.*$/gm, '')
  const problems: string[] = []
  found.set(file, problems)
  if (NODE_GLOBALS.test(text)) problems.push(`${file} uses a global of Node`)
  for (const specifier of importsOf(text.replaceAll(/^import type .*$/gm, ''))) {
    if (specifier.startsWith('.')) visit(resolve(dirname(file), specifier), file, found)
    else if (specifier.startsWith('@windlass/')) visit(entryOf(specifier), file, found)
    else if (!LIBRARIES.includes(specifier)) problems.push(`${file} (imported by ${from}) imports ${specifier}`)
  }
}

test.each([
  ['client', 'protocol/src/client.ts'],
  ['client/agent', 'protocol/src/client.ts'],
  ['client/engine', 'protocol/src/client.ts'],
  ['client/gitlab', 'protocol/src/client.ts'],
  ['client/monitor', 'protocol/src/client.ts'],
  ['client/terminal', 'client/src/terminal/index.ts'],
])('@windlass/%s and what it imports run without Node', (name, imported) => {
  const found = new Map<string, string[]>()
  visit(entryOf(`@windlass/${name}`), 'the test', found)
  expect([...found.keys()]).toContain(join(packages, imported))
  expect([...found.values()].flat()).toEqual([])
})

test('notices what needs Node', () => {
  const found = new Map<string, string[]>()
  visit(entryOf('@windlass/kit'), 'the test', found)
  expect([...found.values()].flat()).toContainEqual(expect.stringContaining('imports node:'))
})
