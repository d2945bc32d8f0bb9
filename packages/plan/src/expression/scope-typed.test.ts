import { expect, test } from 'vitest'
import { finished, serial, step } from '../../test/plans.ts'
import { emptySnapshot, foldAll } from '../state/fold.ts'
import { resolveDirectory } from '../fields/paths.ts'
import { buildScope } from './scope.ts'
import { substitute } from './substitute.ts'

const plan = serial(
  [
    step('main_clone'),
    step('first'),
    step('greet', {
      action: {
        kind: 'group',
        mode: 'serial',
        typed: {
          type: 'acme/greet',
          version: '1.0.0',
          arguments: {
            WHO: '${{WHO}} of ${{steps.first.output.WORD}}',
            LIST: ['${{WHO}}', 2],
            MAP: { a: true },
            NONE: null,
            N: 3,
          },
        },
      },
    }),
    step('greet.first', { parent: 'greet' }),
    step('greet.main', { parent: 'greet' }),
    step('greet.main.on_finish', { hook: { moment: 'on_finish', of: 'greet.main' } }),
    step('greet.on_finish', { hook: { moment: 'on_finish', of: 'greet' } }),
  ],
  { variables: [{ level: 'build', variables: { WHO: { value: 'world' }, LIST: { value: 'outside' } } }] },
)
const exported = (value: string) => ({ exports: [{ name: 'WORD', value, secret: false }] })
const snapshot = foldAll(emptySnapshot(plan), [
  finished('main_clone', 1, { members: { workingDirectory: '/codefresh/volume/app' } }),
  finished('first', 2, exported('outer')),
  finished('greet.first', 3, { ...exported('inner'), members: { workingDirectory: '/inner' } }),
])

function at(name: string, text: string): string {
  return substitute(text, buildScope({ plan, snapshot, step: name })).text
}

test('arguments of a typed step have values inside it, resolved in the scope around it', () => {
  expect(at('greet.main', '${{WHO}}')).toBe('world of outer')
  expect(at('greet.main', '${{LIST}} ${{MAP}} ${{N}}')).toBe('["world",2] {"a":true} 3')
  expect(at('greet.main', '<${{NONE}}>')).toBe('<>')
  expect(at('greet.main.on_finish', '${{WHO}}')).toBe('world of outer')
})

test('arguments have no values outside the step or in its own hooks', () => {
  expect(at('first', '${{WHO}} ${{LIST}}')).toBe('world outside')
  expect(at('greet.on_finish', '${{WHO}}')).toBe('world')
})

test('short names refer to its own parts first, and full names work outside', () => {
  expect(at('greet.main', '${{steps.first.output.WORD}} ${{first.result}}')).toBe('inner success')
  expect(at('greet.main.on_finish', '${{parentSteps.first}}')).toBe('/inner')
  expect(at('greet.on_finish', '${{steps.first.output.WORD}}')).toBe('outer')
  expect(at('first', '${{steps.greet.first.output.WORD}} ${{steps.greet.main.result}}')).toBe('inner pending')
})

test('a typed step starts in the volume, regardless of main_clone', () => {
  const directory = (name: string) => resolveDirectory(buildScope({ plan, snapshot, step: name }), '', 'main-clone')
  expect(directory('first')).toBe('/codefresh/volume/app')
  expect(directory('greet.main')).toBe('/codefresh/volume')
})
