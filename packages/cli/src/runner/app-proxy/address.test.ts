import { expect, test } from 'vitest'
import { chooseAppProxy } from '../init/choose-app-proxy.ts'
import { defaultPrompter, type Prompter } from '../init/prompter.ts'
import { proxyValuesOf, toChartValues } from '../values/chart-values.ts'
import { readInstallValues } from '../values/install-values.ts'
import { appProxyNameOf, appProxyUrlOf, wantsAppProxy, withCheckedHost } from './address.ts'

test('names are labels, readable, and different for runtimes that read alike', () => {
  expect(appProxyNameOf('prod/builds')).toMatch(/^prod-builds-[0-9a-f]{8}$/)
  expect(appProxyNameOf('prod-builds')).not.toBe(appProxyNameOf('prod/builds'))
  expect(appProxyNameOf('/')).toMatch(/^runner-[0-9a-f]{8}$/)
  expect(appProxyNameOf(`${'x'.repeat(28)}/y`)).toMatch(/^x{28}-[0-9a-f]{8}$/)
  expect(appProxyNameOf('x'.repeat(80))).toHaveLength(38)
})

test.each([
  { host: 'http://proxy.example.com', says: 'by HTTPS only' },
  { host: 'proxy.example.com:80', says: 'is not a host name' },
  { host: 'proxy.example.com/x', says: 'is not a host name' },
  { host: '*.example.com', says: 'is not a host name' },
  { host: '', says: 'has no host' },
])('refuses the host "$host"', ({ host, says }) => {
  const given = readInstallValues(host === '' ? {} : { appProxyHost: host })
  expect(() => withCheckedHost(given)).toThrow(says)
})

test('values of the installer become those of the chart, and name the address', () => {
  const Ingress = { PathPrefix: '/git', TLSSecret: 'tls', Annotations: { a: 'b' } }
  const set = Object.entries(Ingress).flatMap(([key, value]) =>
    typeof value === 'string' ? [`AppProxy.Ingress.${key}=${value}`] : ['AppProxy.Ingress.Annotations.a=b'],
  )
  const flags = { appProxyHost: 'https://Proxy.example.com', appProxyIngressClass: 'nginx', setValue: set }
  const values = withCheckedHost(readInstallValues(flags))
  const ingress = { host: 'proxy.example.com', class: 'nginx', tlsSecret: 'tls', pathPrefix: '/git', annotations: { a: 'b' } }
  expect(proxyValuesOf(values)).toMatchObject({ appProxy: { enabled: true, ingress } })
  expect(appProxyUrlOf(proxyValuesOf(values))).toBe('https://proxy.example.com/git')
  const facts = { url: 'https://w', namespace: 'n', context: 'c', agentName: 'a', runtimeName: 'r', tokenSecret: undefined }
  const parts = { agent: true, runtime: true, monitor: false }
  expect(toChartValues(values, { ...facts, parts })).not.toHaveProperty('appProxy')
  expect(toChartValues(values, { ...facts, parts, appProxy: { cors: 'https://ci.example.com' } })).toMatchObject({
    appProxy: { tokenSecret: 'app-proxy-token', config: { cors: 'https://ci.example.com' } },
  })
})

test('an HTTPRoute of chart values needs no other host; later values need none if the release has one', () => {
  const pair = ['appProxy.enabled=true', 'appProxy.httpRoute.enabled=true']
  const { installer, chart } = readInstallValues({ setValue: pair })
  const hostnames = { appProxy: { httpRoute: { hostnames: ['gate.example.com'] } } }
  const values = {
    installer,
    chart: { appProxy: { enabled: true, httpRoute: { enabled: true, hostnames: ['gate.example.com'] } } },
  }
  expect(wantsAppProxy(values)).toBe(true)
  expect(withCheckedHost(values)).toBe(values)
  expect(appProxyUrlOf(values.chart)).toBe('https://gate.example.com/app-proxy')
  expect(() => withCheckedHost({ installer, chart })).toThrow('has no host')
  expect(withCheckedHost({ installer, chart }, hostnames).installer).toEqual({})
})

test('runner init asks for the host of the app-proxy only with --app-proxy, and --app-proxy=false leaves it out', async () => {
  const asked: string[] = []
  const prompter: Prompter = {
    ...defaultPrompter,
    isInteractive: true,
    text: async (question) => {
      asked.push(question)
      return 'proxy.example.com'
    },
  }
  const given = readInstallValues({})
  expect(await chooseAppProxy(given, {}, prompter)).toBe(given)
  expect(asked).toEqual([])
  const chosen = await chooseAppProxy(given, { appProxy: true }, prompter)
  expect(chosen.installer.AppProxy).toEqual({ Ingress: { Host: 'proxy.example.com' } })
  expect(asked).toHaveLength(1)
  const named = readInstallValues({ appProxyHost: 'other.example.com' })
  expect(wantsAppProxy(await chooseAppProxy(named, { appProxy: false }, prompter))).toBe(false)
  expect(wantsAppProxy(await chooseAppProxy(named, {}, prompter))).toBe(true)
  await expect(chooseAppProxy(given, { appProxy: true }, defaultPrompter)).rejects.toThrow('has no host')
  await expect(chooseAppProxy(given, { appProxy: true }, { ...prompter, text: async () => '' })).rejects.toThrow('has no host')
})
