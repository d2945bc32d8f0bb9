import { expect, test } from 'vitest'
import { fillManifest, nameFor } from './deploy.ts'

test('substitutes variables in double braces and nothing else (P072)', () => {
  const variables = { IMAGE: 'app:1', EMPTY: '', toString: 'own' }
  expect(fillManifest('a: {{IMAGE}} {{ IMAGE }} "{{EMPTY}}"', variables)).toBe('a: app:1 app:1 ""')
  expect(fillManifest('{{UNKNOWN}} {{ .Values.x }} ${{IMAGE}} {{constructor}} {IMAGE}', variables)).toBe(
    '{{UNKNOWN}} {{ .Values.x }} ${{IMAGE}} {{constructor}} {IMAGE}',
  )
  expect(fillManifest('{{IMAGE}}', { IMAGE: '$& {{EMPTY}}' })).toBe('$& {{EMPTY}}')
})

test('uses the registry name of the candidate (P072)', () => {
  const registry = { context: 'mine', isDefault: true, domain: 'reg.example:5000', repositoryPrefix: 'team' }
  const name = (image: string, members?: Record<string, string>): string =>
    nameFor({ image, registry: 'mine', ...(members !== undefined && { step: 'build' }) }, registry, () => members ?? {})
  expect(name('app:1')).toBe('reg.example:5000/team/app:1')
  expect(name('other.example/app')).toBe('other.example/app:latest')
  expect(name('sha256:abc', { imageId: 'sha256:abc', imageName: 'app', imageTagName: 'main' })).toBe(
    'reg.example:5000/team/app:main',
  )
  expect(name('sha256:abc', { imageRepoDigest: 'reg.example:5000/team/app@sha256:def' })).toBe(
    'reg.example:5000/team/app@sha256:def',
  )
  expect(() => name(`sha256:${'a'.repeat(64)}`)).toThrow('must have a name in a registry')
})
