import { expect, test } from 'vitest'
import { fillManifest } from './deploy.ts'

test('P072: names of variables in double braces are filled in, everything else stays', () => {
  const variables = { IMAGE: 'app:1', EMPTY: '', toString: 'own' }
  expect(fillManifest('a: {{IMAGE}} {{ IMAGE }} "{{EMPTY}}"', variables)).toBe('a: app:1 app:1 ""')
  expect(fillManifest('{{UNKNOWN}} {{ .Values.x }} ${{IMAGE}} {{constructor}} {IMAGE}', variables)).toBe(
    '{{UNKNOWN}} {{ .Values.x }} ${{IMAGE}} {{constructor}} {IMAGE}',
  )
  expect(fillManifest('{{IMAGE}}', { IMAGE: '$& {{EMPTY}}' })).toBe('$& {{EMPTY}}')
})
