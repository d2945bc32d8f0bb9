/** The routes for users, by resource. Every export of a file in `routes/` is a group of `ROUTES`. */
import * as account from './routes/account.ts'
import * as builds from './routes/builds.ts'
import * as gitlab from './routes/gitlab.ts'
import * as gitops from './routes/gitops.ts'
import * as links from './routes/links.ts'
import * as notifications from './routes/notifications.ts'
import * as pipelines from './routes/pipelines.ts'
import * as runner from './routes/runner.ts'
import * as triggers from './routes/triggers.ts'
import * as users from './routes/users.ts'
import * as views from './routes/views.ts'

export const ROUTES = {
  ...account,
  ...builds,
  ...gitlab,
  ...gitops,
  ...links,
  ...notifications,
  ...pipelines,
  ...runner,
  ...triggers,
  ...users,
  ...views,
}
