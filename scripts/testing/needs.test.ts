import { expect, test } from 'vitest'
import { GROUPS } from './groups.ts'
import { filesOf, partsOf, usesOf } from './needs.ts'
import { RECIPES, withNeeds } from './parts.ts'

const groups = GROUPS.filter(({ include }) => include !== undefined)

test('a source that starts a program or names an image uses that part', () => {
  expect([...partsOf("await runProgram('docker', ['run', image('pause')])")]).toEqual(['docker', 'image:pause'])
  expect([...partsOf("await ensureImages(\n  'shell',\n  'dind-rootless',\n)")]).toEqual(['image:shell', 'image:dind-rootless'])
  expect([...partsOf("steps: {image: 'windlass.local/pause:1'}")]).toEqual(['image:pause'])
})

// Unit tests name images in data, and those of the scripts here name every part.
const isData = (group: string, part: string, where: string): boolean =>
  group === 'unit' && (part.startsWith('image:') || where.startsWith('scripts/'))

test.each(groups)('group $name prepares every part that its files use', (group) => {
  const given = new Set<string>(withNeeds(group.parts))
  const missing = filesOf(group).flatMap((file) =>
    [...usesOf(file)]
      .filter(([part, where]) => !given.has(part) && !isData(group.name, part, where))
      .map(([part, where]) => `${file} uses ${part} (${where})`),
  )
  expect(missing).toEqual([])
})

test('every part of a group has a recipe, and each recipe prepares its dependencies first', () => {
  for (const { parts } of GROUPS) for (const part of withNeeds(parts)) expect(RECIPES[part], part).toBeDefined()
})

test('groups without compiled parts do not wait for compiling', () => {
  const compiled = (name: string): string[] =>
    withNeeds(GROUPS.find((group) => group.name === name)?.parts ?? []).filter((part) => RECIPES[part].compiles === true)
  for (const name of ['check', 'unit', 'store', 'parts', 'docker', 'http', 'codefresh', 'chaos', 'demo'])
    expect(compiled(name), name).toEqual([])
})
