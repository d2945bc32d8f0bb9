/** The routes that the page uses: those for users, except those of parts that it does not show. Its first script has all of them. */
import * as account from './routes/account.ts'
import * as builds from './routes/builds.ts'
import * as gitlab from './routes/gitlab.ts'
import * as links from './routes/links.ts'
import * as notifications from './routes/notifications.ts'
import * as pipelines from './routes/pipelines.ts'
import * as runner from './routes/runner.ts'
import * as users from './routes/users.ts'
import * as views from './routes/views.ts'

export const PAGE_ROUTES = {
  ...account,
  ...builds,
  ...gitlab,
  ...links,
  ...notifications,
  ...pipelines,
  ...runner,
  ...users,
  ...views,
}
