export { startAppProxy, type AppProxy, type AppProxyOptions } from './app-proxy.ts'
export { AppProxyConfig, readAppProxyConfig, toAppProxyOptions } from './config.ts'
