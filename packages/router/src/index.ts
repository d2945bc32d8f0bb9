export { readRouterConfig, RouterConfig, toRouterOptions } from './config.ts'
export { serveRouterMetrics } from './health.ts'
export { startRouter, type Router, type RouterOptions } from './router.ts'
