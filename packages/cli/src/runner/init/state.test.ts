import { mkdtempDisposableSync, readdirSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { listStates, removeState, saveState, type InstallState } from './state.ts'

const STATE: InstallState = {
  url: 'http://windlass.test',
  context: 'kind',
  namespace: 'ci',
  agentName: 'agent',
  runtimeName: 'kind/ci',
  makeDefault: true,
  monitor: false,
  demo: 'none',
  wishes: '0',
  startedAt: 1,
  marks: {},
}

test('an ended installation leaves no file, also if an earlier run was killed while it wrote one', () => {
  using folder = mkdtempDisposableSync(join(tmpdir(), 'installations-'))
  const other = { ...STATE, namespace: 'ci-2', startedAt: 2 }
  saveState(folder.path, STATE)
  saveState(folder.path, other)
  const ofOther = readdirSync(folder.path).filter((name) => name.includes('ci-2'))
  for (const name of readdirSync(folder.path)) writeFileSync(join(folder.path, `${name}.4711.part`), '{')
  expect(listStates(folder.path)).toEqual([other, STATE])

  removeState(folder.path, STATE)
  expect(readdirSync(folder.path).toSorted()).toEqual([...ofOther, `${ofOther[0]}.4711.part`].toSorted())
  removeState(folder.path, other)
  expect(readdirSync(folder.path)).toEqual([])
})
