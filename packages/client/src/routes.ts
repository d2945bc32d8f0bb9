/** The routes for users, by resource. Every export of a file in `routes/` is a group of `ROUTES`. */
import { PAGE_ROUTES } from './page-routes.ts'
import * as gitops from './routes/gitops.ts'
import * as products from './routes/products.ts'
import * as rollouts from './routes/rollouts.ts'
import * as triggers from './routes/triggers.ts'

export const ROUTES = { ...PAGE_ROUTES, ...gitops, ...products, ...rollouts, ...triggers }
