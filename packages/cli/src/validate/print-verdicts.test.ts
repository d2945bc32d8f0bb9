import { expect, test } from 'vitest'
import { compile } from '@windlass/pipeline'
import { recordOutput } from '../../test/recorded-output.ts'
import { printVerdicts, VALIDATE_FORMATS, type ValidateFormat } from './print-verdicts.ts'

const text = "version: '1.0'\nmode: serial\nsteps: {}\n"

function print(format: ValidateFormat): string {
  const out = recordOutput({ hasColor: false })
  const { problems } = compile({ text, file: 'p.yml' })
  printVerdicts(out, [{ file: 'p.yml', text, valid: false, problems }], { format, docsUrl: undefined })
  return out.lines.join('\n')
}

test('the formats for readers name the code of each problem (P172)', () => {
  const withCode = VALIDATE_FORMATS.filter((format) => print(format).includes('[invalid-value]'))
  expect(withCode).toEqual(['human', 'lint'])
  expect(print('message')).toBe('"mode" must be one of [sequential, parallel]. Current value: serial')
})
