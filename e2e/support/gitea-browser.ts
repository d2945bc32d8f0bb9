/** The browser of a user of Gitea: signs in and consents to an OAuth app, over HTTP. */
import type { GiteaUser } from './gitea.ts'

const MAX_REDIRECTS = 10

/** Opens the page of an OAuth app as a user, consents, and returns the address that Gitea sends the browser to. */
export async function consent(page: string, user: Pick<GiteaUser, 'name' | 'password'>): Promise<string> {
  const { origin } = new URL(page)
  const cookies = new Map<string, string>()
  const load = async (start: string, form?: Record<string, string>): Promise<{ url: string; text: string }> => {
    let url = start
    let body = form === undefined ? null : new URLSearchParams(form)
    for (let n = 0; n < MAX_REDIRECTS; n += 1) {
      // The address of the app is for the caller.
      if (new URL(url).origin !== origin) return { url, text: '' }
      const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ')
      const answer = await fetch(url, { method: body === null ? 'GET' : 'POST', body, redirect: 'manual', headers: { cookie } })
      for (const line of answer.headers.getSetCookie()) {
        const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? []
        cookies.set(name, value)
      }
      const text = await answer.text()
      const location = answer.headers.get('location')
      if (location === null) return { url, text }
      url = new URL(location, url).href
      body = null
    }
    throw new Error(`more than ${MAX_REDIRECTS} redirects from ${start}`)
  }
  await load(`${origin}/user/login`)
  await load(`${origin}/user/login`, { user_name: user.name, password: user.password })
  const asked = await load(page)
  if (new URL(asked.url).origin !== origin) return asked.url
  const fields = [...asked.text.matchAll(/<input type="hidden" name="(\w+)" value="([^"]*)"/g)].map(
    ([, name = '', value = '']) => [name, value.replaceAll('&amp;', '&').replaceAll('&#43;', '+').replaceAll('&#34;', '"')],
  )
  const form = Object.fromEntries(fields) as Record<string, string>
  if (form['client_id'] === undefined)
    throw new Error(`Gitea does not ask for consent at ${asked.url}: ${asked.text.slice(0, 2_000)}`)
  return (await load(`${origin}/login/oauth/grant`, { ...form, granted: 'true' })).url
}
