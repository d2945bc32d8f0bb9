export { openClient, withRoutes, type ApiClient } from './client.ts'
export { listAll } from './list-all.ts'
export { isCallOf, pathOf, type Route } from './route.ts'
export { ROUTES } from './routes.ts'
