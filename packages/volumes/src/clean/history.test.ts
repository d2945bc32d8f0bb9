import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { USE_ACTIONS } from './history.ts'

const helper = join(import.meta.dirname, '../../../../images/dind/helper/uses.go')

test('the helper of the Docker daemon counts the same actions as uses', () => {
  const [, list = ''] = /^var useActions = \[\]string\{(.*)\}$/m.exec(readFileSync(helper, 'utf8')) ?? []
  expect(list.split(', ')).toEqual(USE_ACTIONS.map((action) => JSON.stringify(action)))
})
