import { expect, test } from 'vitest'
import { ARGO_SERVER_LABELS, argoServerIn, evaluateArgoCd } from './argo-cd.ts'

const PLACE = { namespace: 'gitops', name: 'argocd-server', port: 443, path: '/argo' }
const evaluate = (version: string): ReturnType<typeof evaluateArgoCd> =>
  evaluateArgoCd(JSON.stringify({ Version: version }), PLACE)

test('versions of Argo CD from 3.0 on pass, older ones fail with what to do, and untested ones are a warning', () => {
  for (const version of ['v3.0.0', 'v3.3.10+a1b2c3d', '3.6.1'])
    expect(evaluate(version)).toEqual({
      check: 'argo-cd',
      status: 'pass',
      message: `Argo CD ${version} at argocd-server:443/argo`,
    })
  expect(evaluate('v2.14.20+abc')).toEqual({
    check: 'argo-cd',
    status: 'fail',
    message: 'argocd-server:443/argo is Argo CD v2.14.20+abc. A GitOps runtime needs 3.0 or later; 3.0 to 3.6 are tested.',
    hint: 'Upgrade Argo CD first. To install without this check, set installer.argoCdVersionCheck.enabled to false.',
  })
  for (const version of ['v3.7.0-rc1', 'v4.0.0']) expect(evaluate(version)).toMatchObject({ status: 'warn' })
  for (const answer of ['<html>', '{}', '{"Version":"latest"}'])
    expect(() => evaluateArgoCd(answer, PLACE)).toThrow('does not answer as the server of Argo CD')
})

test('values name the server of Argo CD, and one that a token is for has its default name', () => {
  const server = (given: object): object => ({ global: { integrations: { 'argo-cd': { server: given } } } })
  const none = { service: undefined, port: undefined, protocol: undefined, rootPath: undefined, labels: ARGO_SERVER_LABELS }
  expect(argoServerIn({})).toEqual(none)
  expect(argoServerIn({ ...server({ auth: { tokenSecretKeyRef: { name: 'argo' } } }) })).toEqual({
    ...none,
    service: 'argocd-server',
  })
  expect(argoServerIn({ ...server({ svc: 'cd', port: 8443, protocol: 'https', rootpath: '/cd' }) })).toEqual({
    ...none,
    service: 'cd',
    port: 8443,
    protocol: 'https',
    rootPath: '/cd',
  })
  const labels = { installer: { argoCdVersionCheck: { argoServerLabels: { app: 'cd', tier: 'web' } } } }
  expect(argoServerIn(labels)).toEqual({ ...none, labels: 'app=cd,tier=web' })
  expect(argoServerIn({ installer: { argoCdVersionCheck: { enabled: false } } })).toBeUndefined()
})
