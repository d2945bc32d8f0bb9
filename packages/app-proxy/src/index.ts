export { startAppProxy, type AppProxy } from './app-proxy.ts'
export { AppProxyConfig, readAppProxyConfig, toAppProxyOptions } from './config.ts'
export type { AppProxyOptions } from './options.ts'
