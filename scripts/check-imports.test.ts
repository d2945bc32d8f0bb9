import { expect, test } from 'vitest'
import { breaches, importsOf, readImportTable } from './check-imports.ts'

const table = '# x\n\n| package | may import |\n|---|---|\n| kit | – |\n| engine | plan, kit/faults |\n\ntext'
const rules = readImportTable(table)
const declared = new Set(['@windlass/plan', '@windlass/kit', 'zod'])
const check = (text: string): string[] => breaches({ name: 'engine', path: 'packages/engine/src/a/b.ts', text }, rules, declared)

test('reads the import table from the document', () => {
  expect(rules).toEqual([
    { from: 'kit', to: [] },
    { from: 'engine', to: ['plan', 'kit/faults'] },
  ])
})

test('finds imports in every form', () => {
  const text = "import a from 'a'\nimport {\n  b,\n} from 'b'\nexport * from './c.ts'\nconst d = await import('d')\nimport 'e'"
  expect(importsOf(text)).toEqual(expect.arrayContaining(['a', './c.ts', 'd', 'e']))
})

test('rejects a package that is not in the row of the importer', () => {
  expect(check("import { x } from '@windlass/server'")).toEqual(['packages/engine/src/a/b.ts: engine may not import server'])
  expect(check("import { x } from '@windlass/plan'")).toEqual([])
})

test('allows a single export path of a package', () => {
  expect(check("import { fault } from '@windlass/kit/faults'")).toEqual([])
  expect(check("import { x } from '@windlass/kit'")).toHaveLength(1)
})

test('rejects a relative path that leaves the package', () => {
  expect(check("import { x } from '../../../server/src/x.ts'")).toHaveLength(1)
  expect(check("import { x } from '../c.ts'")).toEqual([])
})

test('rejects undeclared libraries, settings outside of config files and the wall clock', () => {
  expect(check("import _ from 'lodash'")).toHaveLength(1)
  expect(check("import { z } from 'zod'\nimport fs from 'node:fs'")).toEqual([])
  expect(check('const a = process.env.A')).toHaveLength(1)
  expect(check('const a = Date.now()')).toHaveLength(1)
})
