/** Signs in with a name and password, an API key, the code of a printed link (`/signin#code=…`) or an invitation (`#invitation=…`), and signs out. */
const message = document.querySelector('#message')
const forms = document.querySelector('#forms')
const nameForm = document.querySelector('#sign-in')
const name = document.querySelector('#name')
const password = document.querySelector('#password')
const provider = document.querySelector('#provider')
const providerName = document.querySelector('#provider-name')
const keyForm = document.querySelector('#use-key')
const key = document.querySelector('#key')
const passwordForm = document.querySelector('#set-password')
const newPassword = document.querySelector('#new-password')
const repeated = document.querySelector('#repeated-password')
const acceptCode = document.querySelector('#accept-code')
const signOut = document.querySelector('#sign-out')

/** Returns the body of the response. Throws an error with the message of the server. */
async function call(method, path, body) {
  const headers = { 'x-windlass-request': '1', ...(body !== undefined && { 'content-type': 'application/json' }) }
  const answer = await fetch(path, { method, headers, ...(body !== undefined && { body: JSON.stringify(body) }) })
  const text = await answer.text()
  const result = text === '' ? undefined : JSON.parse(text)
  if (answer.ok) return result
  const error = new Error(
    answer.status === 429 ? `${result.detail} Retry in ${answer.headers.get('retry-after')} s.` : result.detail,
  )
  throw Object.assign(error, { status: answer.status })
}

/** Returns who is signed in: the user, or the key if it has no owner. */
function describe({ user, key: ofKey, role }) {
  if (ofKey === undefined) return `as ${user.name} (${role})`
  return `with the key ${ofKey.name}${user === undefined ? '' : ` of ${user.name}`} (${role})`
}

function show(element) {
  for (const one of [forms, passwordForm, acceptCode, signOut]) one.hidden = one !== element
}

function showSession(session) {
  const until = new Date(session.expiresAt).toLocaleString()
  message.textContent = `Signed in ${describe(session)} until ${until} at the latest.`
  show(signOut)
}

/** Offers the sign-in through the provider of the server, if it has one. */
async function offerProvider() {
  try {
    const { oidc } = await call('GET', '/v1/status')
    providerName.textContent = oidc?.name ?? ''
    provider.hidden = oidc === undefined
  } catch {
    provider.hidden = true
  }
}

function showForms(text) {
  message.textContent = text
  show(forms)
  void offerProvider()
  for (const field of [password, key]) field.value = ''
  name.focus()
}

/** Asks before the code is used: another user may have sent the link, and the session would have the rights of that user's key. */
function offerCode(code, session) {
  const question = 'Sign in with this link? Continue only if you created it with the command "windlass auth link".'
  message.textContent =
    session === undefined ? question : `Signed in ${describe(session)}. ${question} It ends the current session.`
  show(acceptCode)
  signOut.hidden = session === undefined
  const accept = async () => {
    acceptCode.hidden = true
    try {
      if (session !== undefined) await endSession()
      showSession(await call('POST', '/v1/sessions', { code }))
    } catch (error) {
      showForms(error.message)
    }
  }
  acceptCode.addEventListener('click', accept, { once: true })
}

/** Lets the invited user choose a password. The code is used when the form is sent. */
function offerInvitation(code) {
  message.textContent = 'Choose a password of at least 12 characters.'
  show(passwordForm)
  passwordForm.addEventListener('submit', async (event) => {
    event.preventDefault()
    if (newPassword.value !== repeated.value) {
      message.textContent = 'The two passwords differ.'
      return
    }
    try {
      showSession(await call('POST', '/v1/invitations/accept', { code, password: newPassword.value }))
    } catch (error) {
      message.textContent = error.message
    }
  })
}

/** Ends the session of this browser. Does nothing if it has already ended. */
async function endSession() {
  try {
    await call('DELETE', '/v1/sessions/current')
  } catch (error) {
    if (error.status !== 401) throw error
  }
}

/** Returns the session of this browser; undefined if it is not signed in. */
async function currentSession() {
  try {
    return await call('GET', '/v1/sessions/current')
  } catch (error) {
    if (error.status !== 401) throw error
    return undefined
  }
}

async function start() {
  const given = new URLSearchParams(location.hash.slice(1))
  const [code, invitation] = [given.get('code'), given.get('invitation')]
  // The code must not stay in the address or in the history.
  if (location.hash !== '') history.replaceState(null, '', location.pathname)
  if (invitation !== null) {
    offerInvitation(invitation)
    return
  }
  try {
    const session = await currentSession()
    if (code !== null) offerCode(code, session)
    else if (session === undefined) showForms('Sign in to this server.')
    else showSession(session)
  } catch (error) {
    showForms(error.message)
  }
}

async function signIn(event, body) {
  event.preventDefault()
  try {
    showSession(await call('POST', '/v1/sessions', body))
  } catch (error) {
    showForms(error.message)
  }
}

nameForm.addEventListener('submit', (event) => signIn(event, { name: name.value.trim(), password: password.value }))
keyForm.addEventListener('submit', (event) => signIn(event, { key: key.value.trim() }))

signOut.addEventListener('click', async () => {
  try {
    await call('DELETE', '/v1/sessions/current')
    showForms('Signed out.')
  } catch (error) {
    showForms(error.message)
  }
})

await start()
