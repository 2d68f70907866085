--
-- PostgreSQL database dump
--

\restrict vXWDEY3XTquYQd3u6EiI8UTyIOLgBjsVW3TMuFLIzPkoHboMcuGgWQgakj7Jwhb

-- Dumped from database version 18.4
-- Dumped by pg_dump version 18.4

SET statement_timeout = 0;
SET lock_timeout = 0;
SET idle_in_transaction_session_timeout = 0;
SET transaction_timeout = 0;
SET client_encoding = 'UTF8';
SET standard_conforming_strings = on;
SELECT pg_catalog.set_config('search_path', '', false);
SET check_function_bodies = false;
SET xmloption = content;
SET client_min_messages = warning;
SET row_security = off;

--
-- Name: upcall; Type: SCHEMA; Schema: -; Owner: -
--

CREATE SCHEMA upcall;


SET default_tablespace = '';

SET default_table_access_method = heap;

--
-- Name: attachment; Type: TABLE; Schema: upcall; Owner: -
--

CREATE TABLE upcall.attachment (
    inquiry text NOT NULL COLLATE pg_catalog."C",
    "position" integer NOT NULL,
    content bytea NOT NULL
);


--
-- Name: counter; Type: TABLE; Schema: upcall; Owner: -
--

CREATE TABLE upcall.counter (
    single boolean DEFAULT true NOT NULL,
    last_seq bigint NOT NULL,
    last_number bigint NOT NULL,
    CONSTRAINT counter_single_check CHECK (single)
)
WITH (fillfactor='10');


--
-- Name: event; Type: TABLE; Schema: upcall; Owner: -
--

CREATE TABLE upcall.event (
    seq bigint NOT NULL,
    type text NOT NULL COLLATE pg_catalog."C",
    inquiry text COLLATE pg_catalog."C",
    at double precision NOT NULL,
    data text NOT NULL
);


--
-- Name: fence; Type: SEQUENCE; Schema: upcall; Owner: -
--

CREATE SEQUENCE upcall.fence
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;


--
-- Name: inquiry; Type: TABLE; Schema: upcall; Owner: -
--

CREATE TABLE upcall.inquiry (
    number bigint NOT NULL,
    id text NOT NULL COLLATE pg_catalog."C",
    ref text NOT NULL COLLATE pg_catalog."C",
    state text NOT NULL COLLATE pg_catalog."C",
    kind text NOT NULL COLLATE pg_catalog."C",
    agent text NOT NULL COLLATE pg_catalog."C",
    session text NOT NULL COLLATE pg_catalog."C",
    purpose text NOT NULL COLLATE pg_catalog."C",
    request_key text COLLATE pg_catalog."C",
    asked_at double precision NOT NULL,
    expires_at double precision NOT NULL,
    closed_at double precision,
    outcome text,
    body text NOT NULL,
    run bigint,
    searched text COLLATE pg_catalog."C"
);


--
-- Name: inquiry_words; Type: TABLE; Schema: upcall; Owner: -
--

CREATE TABLE upcall.inquiry_words (
    number bigint NOT NULL,
    words tsvector NOT NULL
);


--
-- Name: job; Type: TABLE; Schema: upcall; Owner: -
--

CREATE TABLE upcall.job (
    id text NOT NULL COLLATE pg_catalog."C",
    kind text NOT NULL COLLATE pg_catalog."C",
    subject text NOT NULL COLLATE pg_catalog."C",
    runner text NOT NULL COLLATE pg_catalog."C",
    due double precision NOT NULL,
    fence bigint NOT NULL,
    attempts bigint NOT NULL,
    body text NOT NULL,
    holder text DEFAULT ''::text NOT NULL COLLATE pg_catalog."C"
);


--
-- Name: record; Type: TABLE; Schema: upcall; Owner: -
--

CREATE TABLE upcall.record (
    kind text NOT NULL COLLATE pg_catalog."C",
    key text NOT NULL COLLATE pg_catalog."C",
    state text NOT NULL COLLATE pg_catalog."C",
    at double precision NOT NULL,
    body text NOT NULL
);


--
-- Name: token; Type: TABLE; Schema: upcall; Owner: -
--

CREATE TABLE upcall.token (
    name text NOT NULL COLLATE pg_catalog."C",
    role text NOT NULL COLLATE pg_catalog."C",
    digest text NOT NULL COLLATE pg_catalog."C",
    created_at double precision NOT NULL
);


--
-- Name: version; Type: TABLE; Schema: upcall; Owner: -
--

CREATE TABLE upcall.version (
    number integer NOT NULL
);


--
-- Name: writer; Type: TABLE; Schema: upcall; Owner: -
--

CREATE TABLE upcall.writer (
    name text NOT NULL COLLATE pg_catalog."C",
    last bigint NOT NULL,
    at timestamp with time zone NOT NULL
)
WITH (fillfactor='50');


--
-- Data for Name: attachment; Type: TABLE DATA; Schema: upcall; Owner: -
--

COPY upcall.attachment (inquiry, "position", content) FROM stdin;
01m7keexfb3dhtv98gdnj0npj6	0	\\x2d20610a2b20620a
\.


--
-- Data for Name: counter; Type: TABLE DATA; Schema: upcall; Owner: -
--

COPY upcall.counter (single, last_seq, last_number) FROM stdin;
t	48	15
\.


--
-- Data for Name: event; Type: TABLE DATA; Schema: upcall; Owner: -
--

COPY upcall.event (seq, type, inquiry, at, data) FROM stdin;
1	asked	01m7keexbp60s8758hc696g5g3	1794875290.998583	{"ref":"s3","kind":"ask_user_question","agent":"local","session":"s-a"}
2	asked	01m7keexd03mwm3qaz91qrdz7c	1794875291.0407193	{"ref":"x3","kind":"text","agent":"local","session":"local"}
3	asked	01m7keexd54dp3tv8tmahwa6n6	1794875291.0450747	{"ref":"f4","kind":"approval","agent":"local","session":"local"}
4	asked	01m7keexe75m6zcg97bfzw8yzd	1794875291.0799508	{"ref":"g4","kind":"text","agent":"local","session":"local"}
5	asked	01m7keexez1ssrh77gyawbfehv	1794875291.1034431	{"ref":"f5","kind":"ask_user_question","agent":"local","session":"local"}
6	asked	01m7keexfb3dhtv98gdnj0npj6	1794875291.1155007	{"ref":"r2","kind":"text","agent":"local","session":"local"}
7	asked	01m7keexfq36f1qpanhn0gzzzg	1794875291.127636	{"ref":"d4","kind":"ask_user_question","agent":"local","session":"local"}
8	asked	01m7keexg783dhvbzzvccrxy3k	1794875291.1436958	{"ref":"j6","kind":"ask_user_question","agent":"local","session":"s-a"}
9	answered	01m7keexg783dhvbzzvccrxy3k	1794875291.1552675	{"answers":[["Redis"]],"ref":"j6","by":"ana","via":"api"}
10	collected	01m7keexg783dhvbzzvccrxy3k	1794875291.1909153	{"evidence":"acknowledged"}
11	asked	01m7keexhz0fak04yfz7mxmtce	1794875291.1997633	{"ref":"c2","kind":"ask_user_question","agent":"local","session":"local"}
12	answered	01m7keexhz0fak04yfz7mxmtce	1794875291.2112782	{"answers":[["Memcached"],["lint","tests"]],"ref":"c2","by":"root","via":"api"}
13	asked	01m7keexjt7rm3nvvxvfxtex39	1794875291.2262073	{"ref":"y4","kind":"text","agent":"local","session":"local"}
14	rejected	01m7keexjt7rm3nvvxvfxtex39	1794875291.2444005	{"ref":"y4","by":"ana","via":"api","reason":"not now"}
15	asked	01m7keexkt7qn9ewtp3cvhksb2	1794875291.258172	{"ref":"y6","kind":"text","agent":"local","session":"local"}
16	cancelled	01m7keexkt7qn9ewtp3cvhksb2	1794875291.2760746	{"ref":"y6","by":"local","via":"api","reason":"found it myself"}
17	asked	01m7keexms9rfpkkj85wkke9mp	1794875291.289166	{"ref":"h7","kind":"text","agent":"local","session":"local"}
18	expired	01m7keexms9rfpkkj85wkke9mp	1794875292.2898347	{"ref":"h7","by":"policy","via":"expiry","reason":"ttl"}
19	snoozed	01m7keexd03mwm3qaz91qrdz7c	1794875292.2935474	{"by":"ana","until":1794878892.2935474}
20	extended	01m7keexd54dp3tv8tmahwa6n6	1794875292.307996	{"by":"ana","expires_at":1826411292.307996}
21	rule_made	\N	1794875292.6752844	{"rule":"rf36b404c","as":"prefix","agent":"claude","by":"root"}
22	rule_made	\N	1794875292.6939313	{"rule":"r0340ebae","as":"tool","agent":"claude","by":"root"}
23	rule_revoked	\N	1794875292.7144196	{"rule":"r0340ebae","as":"tool","agent":"claude","by":"root"}
24	thread_begun	\N	1794875292.8001745	{"thread":"shop-42","agent":"local","title":"The shop"}
25	thread_item	\N	1794875292.8309822	{"thread":"shop-42","agent":"local","id":"itm_cdaa6d2079a54fd1b458e0df8bd13a0b","role":"agent","by":"local","content":[{"type":"text","text":"Looking at the shop."}],"metadata":{"type":"text"}}
26	asked	01m7keez650qg7k0xafr0w65wp	1794875292.8699715	{"ref":"w3","kind":"ask_user_question","agent":"local","session":"local"}
27	activated	01m7keez650qg7k0xafr0w65wp	1794875292.8873022	{"ref":"w3","kind":"ask_user_question","agent":"local","session":"local","expires_at":1826411292.8873022}
28	thread_item	\N	1794875292.8873022	{"thread":"shop-42","agent":"local","id":"prm_01m7keez650qg7k0xafr0w65wp_asked","role":"worker","by":"upcall","content":[{"type":"text","text":"\\u2753 Provide input:\\nWhich cache?\\n  1. Redis \\u2014 has pub/sub\\n  2. Memcached\\nReply with a number, the option text, or free text.\\n"}],"metadata":{"type":"pending_prompt","prompt":{"prompt_id":"prm_01m7keez650qg7k0xafr0w65wp","kind":"ask_user_question","prompt_state":"pending","questions":[{"question":"Which cache?","multiSelect":false,"options":[{"label":"Redis","description":"has pub/sub"},{"label":"Memcached","description":""}]}]}}}
29	asked	01m7keez6y8jqp38y9j4mnke5d	1794875292.8945696	{"ref":"f8","kind":"text","agent":"local","session":"local"}
30	answered	01m7keez650qg7k0xafr0w65wp	1794875292.9671652	{"answers":[["Redis"]],"ref":"w3","by":"ana","via":"thread"}
31	thread_item	\N	1794875292.9671652	{"thread":"shop-42","agent":"local","id":"msg_01m7keez650qg7k0xafr0w65wp","role":"user","by":"ana","content":[{"type":"text","text":"1"}],"metadata":{"type":"text","prompt":{"prompt_id":"prm_01m7keez650qg7k0xafr0w65wp"}},"key":"m-17"}
32	collected	01m7keez650qg7k0xafr0w65wp	1794875293.0177417	{"evidence":"acknowledged"}
33	thread_item	\N	1794875293.0177417	{"thread":"shop-42","agent":"local","id":"prm_01m7keez650qg7k0xafr0w65wp_resolved","role":"worker","by":"upcall","content":[{"type":"text","text":"\\u2713 Answered: Redis"}],"metadata":{"type":"pending_prompt_resolved","prompt":{"prompt_id":"prm_01m7keez650qg7k0xafr0w65wp","kind":"ask_user_question","prompt_state":"answered","answers":[{"question":"Which cache?","answer":["Redis"]}],"reason":null}}}
34	activated	01m7keez6y8jqp38y9j4mnke5d	1794875293.0372417	{"ref":"f8","kind":"text","agent":"local","session":"local","expires_at":1826411293.0372417}
35	thread_item	\N	1794875293.0372417	{"thread":"shop-42","agent":"local","id":"prm_01m7keez6y8jqp38y9j4mnke5d_asked","role":"worker","by":"upcall","content":[{"type":"text","text":"\\u2753 Provide input:\\nWhich port?\\nReply with free text.\\n"}],"metadata":{"type":"pending_prompt","prompt":{"prompt_id":"prm_01m7keez6y8jqp38y9j4mnke5d","kind":"text","prompt_state":"pending","questions":[{"question":"Which port?","multiSelect":false,"options":[]}]}}}
36	run_queued	\N	1794875293.3633423	{"run":1,"agent":"done","state":"queued"}
37	run_started	\N	1794875293.401267	{"run":1,"agent":"done","state":"running"}
38	run_progress	\N	1794875294.1170554	{"run":1,"agent":"done","state":"running"}
39	run_queued	\N	1794875294.1236446	{"run":2,"agent":"failing","state":"queued"}
40	run_started	\N	1794875294.1594665	{"run":2,"agent":"failing","state":"running"}
41	run_completed	\N	1794875294.2148197	{"run":1,"agent":"done","state":"completed"}
42	run_queued	\N	1794875294.5930657	{"run":3,"agent":"bot","state":"queued"}
43	run_started	\N	1794875294.5998037	{"run":3,"agent":"bot","state":"running"}
44	run_failed	\N	1794875294.661775	{"run":2,"agent":"failing","state":"failed"}
45	run_progress	\N	1794875294.9413698	{"run":3,"agent":"bot","state":"running"}
46	asked	01m7kef18b8nffdaawh2v32a37	1794875294.9876244	{"ref":"r3","kind":"ask_user_question","agent":"bot","session":"run-3"}
47	run_waiting	\N	1794875295.023765	{"run":3,"agent":"bot","state":"waiting_input"}
48	run_waiting	\N	1794875295.0388453	{"run":3,"agent":"bot","state":"waiting_input"}
\.


--
-- Data for Name: inquiry; Type: TABLE DATA; Schema: upcall; Owner: -
--

COPY upcall.inquiry (number, id, ref, state, kind, agent, session, purpose, request_key, asked_at, expires_at, closed_at, outcome, body, run, searched) FROM stdin;
8	01m7keexg783dhvbzzvccrxy3k	j6	answered	ask_user_question	local	s-a	question	call-2	1794875291.1436958	1826411291.1436958	1794875291.1552675	{"closing":["ana","api",1794875291.1552675,null,null],"answer":{"values":[["Redis"]],"text":"1"},"collected_at":1794875291.1909153}	{"questions":[{"text":"Which cache?","options":[{"label":"Redis","description":"has pub/sub"},{"label":"Memcached"}]}],"door":"http","digest":"5dc1a203ac4e5c0b0218f3f85fd0282829c1ef8c313b86b545d821fa9e82cfa4"}	\N	answered
9	01m7keexhz0fak04yfz7mxmtce	c2	answered	ask_user_question	local	local	question	\N	1794875291.1997633	1826411291.1997633	1794875291.2112782	{"closing":["root","api",1794875291.2112782,null,null],"answer":{"values":[["Memcached"],["lint","tests"]],"text":"Memcached\\nlint, tests"}}	{"questions":[{"text":"Which cache?","options":[{"label":"Redis","description":"has pub/sub"},{"label":"Memcached"}]},{"text":"Which checks?","options":[{"label":"lint"},{"label":"tests"}],"multi":true}],"door":"http","digest":"ab523ceb7bfc4bb43a74758f9b2fcb81c98c737308b976c0fe6ca1b71f848534"}	\N	answered
10	01m7keexjt7rm3nvvxvfxtex39	y4	rejected	text	local	local	question	\N	1794875291.2262073	1826411291.2262073	1794875291.2444005	{"closing":["ana","api",1794875291.2444005,"not now",null]}	{"questions":[{"text":"May I rewrite it in Rust?"}],"door":"http","digest":"0823e610a36beae11b966658fa494fd68fb6474852ec963d2cd42ef07a9de96b"}	\N	rejected
13	01m7keez650qg7k0xafr0w65wp	w3	answered	ask_user_question	local	local	question	\N	1794875292.8699715	1826411292.8873022	1794875292.9671652	{"closing":["ana","thread",1794875292.9671652,null,"m-17"],"answer":{"values":[["Redis"]],"text":"1"},"collected_at":1794875293.0177417}	{"questions":[{"text":"Which cache?","options":[{"label":"Redis","description":"has pub/sub"},{"label":"Memcached"}]}],"door":"http","thread":"shop-42","digest":"5dc1a203ac4e5c0b0218f3f85fd0282829c1ef8c313b86b545d821fa9e82cfa4"}	\N	\N
1	01m7keexbp60s8758hc696g5g3	s3	open	ask_user_question	local	s-a	question	call-1	1794875290.998583	4102444800	\N	\N	{"questions":[{"text":"Which cache?","options":[{"label":"Redis","description":"has pub/sub"},{"label":"Memcached"}]}],"door":"http","context":"Both are *installed*.","digest":"609b0b56b2c42bdcb6f85558681543e20cac9139ca0508c78eee76751855a8e1"}	\N	open
4	01m7keexe75m6zcg97bfzw8yzd	g4	open	text	local	local	question	\N	1794875291.0799508	4102444800	\N	\N	{"questions":[{"text":"What is the key?"}],"door":"http","secret":true,"digest":"8f02477775e986cbb759e6cb3512c7b044a434edf20f55b02dd92de0ef0858d3"}	\N	open
5	01m7keexez1ssrh77gyawbfehv	f5	open	ask_user_question	local	local	question	\N	1794875291.1034431	4102444800	\N	\N	{"questions":[{"text":"Which cache?","options":[{"label":"Redis","description":"has pub/sub"},{"label":"Memcached"}]},{"text":"Which checks?","options":[{"label":"lint"},{"label":"tests"}],"multi":true}],"door":"http","digest":"ab523ceb7bfc4bb43a74758f9b2fcb81c98c737308b976c0fe6ca1b71f848534"}	\N	open
6	01m7keexfb3dhtv98gdnj0npj6	r2	open	text	local	local	question	\N	1794875291.1155007	4102444800	\N	\N	{"questions":[{"text":"Is this right?"}],"door":"http","attachments":[["a.diff","application/octet-stream",8,"e0e4c5e3f172c44b6a8f7e71592ef1f468f05bbf08c52c26d0cc8b74f88c1f2a"]],"digest":"e4e6018cdf5e2305c4578be272e9a4652d5bdbb903f4d253856221f8a5a6884d"}	\N	open
7	01m7keexfq36f1qpanhn0gzzzg	d4	open	ask_user_question	local	local	question	\N	1794875291.127636	4102444800	\N	\N	{"questions":[{"text":"Which region?","options":[{"label":"eu"},{"label":"us"}]}],"door":"http","on_expiry":"default","default":"eu","labels":["release"],"digest":"c71ba64d85bb5c97787231c2233c19b1ecebe5e0133fce200ac758dc9c875c06"}	\N	open
11	01m7keexkt7qn9ewtp3cvhksb2	y6	cancelled	text	local	local	question	\N	1794875291.258172	1826411291.258172	1794875291.2760746	{"closing":["local","api",1794875291.2760746,"found it myself",null]}	{"questions":[{"text":"Where are the docs?"}],"door":"http","digest":"2673f84beb736e8e62d1655419b4de0ecaf2ecaa6012f3ee572709d9a7815567"}	\N	cancelled
12	01m7keexms9rfpkkj85wkke9mp	h7	expired	text	local	local	question	\N	1794875291.289166	1794875292.289166	1794875292.2898347	{"closing":["policy","expiry",1794875292.2898347,"ttl",null]}	{"questions":[{"text":"Still there?"}],"door":"http","digest":"255790811b226fa5908e8fbeb0cc72a45e27b4085dd5ea58d84262087b2d8fac"}	\N	expired
14	01m7keez6y8jqp38y9j4mnke5d	f8	open	text	local	local	question	\N	1794875292.8945696	4102444800	\N	\N	{"questions":[{"text":"Which port?"}],"door":"http","thread":"shop-42","digest":"b11ec6569fef394fb7d9040eb6067ca77f0b74db03f1885bd1d5d017d605d8d9"}	\N	\N
15	01m7kef18b8nffdaawh2v32a37	r3	open	ask_user_question	bot	run-3	question	text:3:1	1794875294.9876244	4102444800	\N	\N	{"questions":[{"text":"Which cache of the bot?","options":[{"label":"Redis"},{"label":"Memcached"}]}],"door":"native","workspace":"/","run":3,"runner":"workstation-0a1b2c","digest":"8cf1a035eaeab567c122dbc0a95c1ec53e1ea09fe027502dc141d4c80e2a420d"}	3	\N
2	01m7keexd03mwm3qaz91qrdz7c	x3	open	text	local	local	question	\N	1794875291.0407193	4102444800	\N	{"snoozed_until":1794878892.2935474}	{"questions":[{"text":"What is the port of the staging database?"}],"door":"http","digest":"586a06a40e4eda067b89f75bab4029e322adf37bc54aa8519e6af783ce78f0f9"}	\N	open
3	01m7keexd54dp3tv8tmahwa6n6	f4	open	approval	local	local	question	\N	1794875291.0450747	4102444800	\N	\N	{"questions":[{"text":"Drop the table users?","options":[{"label":"Approve"},{"label":"Deny"}],"custom":false}],"door":"http","digest":"b96741d95d2aed943722df19036ca3c8d323e8c2ad7e33e3ed9a4edec9b14caa"}	\N	open
\.


--
-- Data for Name: inquiry_words; Type: TABLE DATA; Schema: upcall; Owner: -
--

COPY upcall.inquiry_words (number, words) FROM stdin;
1	'are' 'both' 'cache' 'has' 'installed' 'local' 'memcached' 'pub' 'redis' 's3' 'sub' 'which'
2	'database' 'is' 'local' 'of' 'port' 'staging' 'the' 'what' 'x3'
3	'approve' 'deny' 'drop' 'f4' 'local' 'table' 'the' 'users'
4	'g4' 'is' 'key' 'local' 'the' 'what'
5	'cache' 'checks' 'f5' 'has' 'lint' 'local' 'memcached' 'pub' 'redis' 'sub' 'tests' 'which'
6	'a' 'diff' 'is' 'local' 'r2' 'right' 'this'
7	'd4' 'eu' 'local' 'region' 'us' 'which'
8	'1' 'ana' 'cache' 'has' 'j6' 'local' 'memcached' 'pub' 'redis' 'sub' 'which'
9	'c2' 'cache' 'checks' 'has' 'lint' 'local' 'memcached' 'pub' 'redis' 'root' 'sub' 'tests' 'which'
10	'ana' 'i' 'in' 'it' 'local' 'may' 'not' 'now' 'rewrite' 'rust' 'y4'
11	'are' 'docs' 'found' 'it' 'local' 'myself' 'the' 'where' 'y6'
12	'h7' 'local' 'policy' 'still' 'there' 'ttl'
\.


--
-- Data for Name: job; Type: TABLE DATA; Schema: upcall; Owner: -
--

COPY upcall.job (id, kind, subject, runner, due, fence, attempts, body, holder) FROM stdin;
\.


--
-- Data for Name: record; Type: TABLE DATA; Schema: upcall; Owner: -
--

COPY upcall.record (kind, key, state, at, body) FROM stdin;
revoked	42aaff4855721079ef13e0ca1dfb69085925f11148854e3e84c5b2d4c4d56f99	gone	1794875290.962096	{}
signing-keys	keys		1794875292.333221	{"keys":["944713a6ce1bc32a29700e35b979034e21adf6ea0827e2e025d038c456852708"]}
rule	rf36b404c	claude	1794875292.6752844	{"id":"rf36b404c","by":"root","made_at":1794875292.6752844,"expires_at":1826411292.6752844,"agent":"claude","tool":null,"directory":"/home/ana/shop","prefix":["npm","test"],"options":[],"exact":null,"shown":"","inquiry":null}
run	2	failed	2	{"number":2,"agent":"failing","task":"Fail","cwd":"/","by":"root","runner":"workstation-0a1b2c","created_at":1794875294.1075373,"permission":"approval","arguments":[],"token":"b13f8406942ee09ec456c08aef730b22e7b7700bde645c840147aa57e95ce857","retry_of":null,"state":"failed","reason":"exit_code 3","result":"","session":"","starts":1,"alive":false,"started_at":1794875294.155889,"ended_at":1794875294.6616974,"exit_code":3,"deferred":"","turns":0,"tool":"","cost":null,"input_tokens":null,"output_tokens":null,"read":0,"words":{"finished":null,"deferred":null,"asked":null},"messages":[],"saying":[],"ending":"","refusals":0,"refused_at":null}
thread	shop-42	local	1794875292.8001745	{"session":"","title":"The shop","permissions":"","active":"01m7keez6y8jqp38y9j4mnke5d","calls":[],"taken":0,"keys":[]}
asked	db7167a847a3575f6fb1e8f3d818c7604f9f6faa7c437820074c6e019da12817	01m7kef18b8nffdaawh2v32a37	1794875294.9876244	{"holder":"text:3:1","used_by":null}
run	1	completed	1	{"number":1,"agent":"done","task":"Say hello","cwd":"/","by":"root","runner":"workstation-0a1b2c","created_at":1794875293.3397815,"permission":"approval","arguments":[],"token":"578a9158a9f37e746e9138ba8397648b956fe22161cfbb9abf9f106d9ccefc5b","retry_of":null,"state":"completed","reason":"","result":"","session":"s-2","starts":1,"alive":false,"started_at":1794875293.3987858,"ended_at":1794875294.2147408,"exit_code":0,"deferred":"","turns":0,"tool":"","cost":null,"input_tokens":null,"output_tokens":null,"read":18,"words":{"finished":null,"deferred":null,"asked":null},"messages":[],"saying":[],"ending":"","refusals":0,"refused_at":null}
counter	run		0	{"last":3}
run	3	waiting_input	3	{"number":3,"agent":"bot","task":"Which cache of the bot?","cwd":"/","by":"root","runner":"workstation-0a1b2c","created_at":1794875294.5887434,"permission":"approval","arguments":[],"token":"b04b72a57bfd8dce84d377a45af17d322186d40aae6c85c0f8c93b2f7fd8415c","retry_of":null,"state":"waiting_input","reason":"","result":"","session":"s-1","starts":1,"alive":false,"started_at":1794875294.5979638,"ended_at":null,"exit_code":0,"deferred":"","turns":0,"tool":"","cost":null,"input_tokens":null,"output_tokens":null,"read":129,"words":{"finished":null,"deferred":null,"asked":null},"messages":[],"saying":[],"ending":"","refusals":0,"refused_at":null}
\.


--
-- Data for Name: token; Type: TABLE DATA; Schema: upcall; Owner: -
--

COPY upcall.token (name, role, digest, created_at) FROM stdin;
root	admin	a65fc5ebc9513b588fc50319d9697e083df614d7cf453f42291c42881fd8c95a	1794875290.8203523
local	agent	9ecf51e5a7149ead04fd895296b4260c6b7cb85ef7d205a3c1c4ada5d5cc70d3	1794875290.8394709
ana	person	6d113486cec8d23356688626689cb36994e1c8cfd442b82be2318b6354ee8f91	1794875290.9379196
build-bot	agent	56b681f96283c7b52b6dc3b399a62b923c895a762fe72d7ada939feaf8ba2f1e	1794875290.9458895
\.


--
-- Data for Name: version; Type: TABLE DATA; Schema: upcall; Owner: -
--

COPY upcall.version (number) FROM stdin;
6
\.


--
-- Data for Name: writer; Type: TABLE DATA; Schema: upcall; Owner: -
--

COPY upcall.writer (name, last, at) FROM stdin;
\.


--
-- Name: fence; Type: SEQUENCE SET; Schema: upcall; Owner: -
--

SELECT pg_catalog.setval('upcall.fence', 1, false);


--
-- Name: attachment attachment_pkey; Type: CONSTRAINT; Schema: upcall; Owner: -
--

ALTER TABLE ONLY upcall.attachment
    ADD CONSTRAINT attachment_pkey PRIMARY KEY (inquiry, "position");


--
-- Name: counter counter_pkey; Type: CONSTRAINT; Schema: upcall; Owner: -
--

ALTER TABLE ONLY upcall.counter
    ADD CONSTRAINT counter_pkey PRIMARY KEY (single);


--
-- Name: event event_pkey; Type: CONSTRAINT; Schema: upcall; Owner: -
--

ALTER TABLE ONLY upcall.event
    ADD CONSTRAINT event_pkey PRIMARY KEY (seq);


--
-- Name: inquiry inquiry_id_key; Type: CONSTRAINT; Schema: upcall; Owner: -
--

ALTER TABLE ONLY upcall.inquiry
    ADD CONSTRAINT inquiry_id_key UNIQUE (id);


--
-- Name: inquiry inquiry_pkey; Type: CONSTRAINT; Schema: upcall; Owner: -
--

ALTER TABLE ONLY upcall.inquiry
    ADD CONSTRAINT inquiry_pkey PRIMARY KEY (number);


--
-- Name: inquiry_words inquiry_words_pkey; Type: CONSTRAINT; Schema: upcall; Owner: -
--

ALTER TABLE ONLY upcall.inquiry_words
    ADD CONSTRAINT inquiry_words_pkey PRIMARY KEY (number);


--
-- Name: job job_pkey; Type: CONSTRAINT; Schema: upcall; Owner: -
--

ALTER TABLE ONLY upcall.job
    ADD CONSTRAINT job_pkey PRIMARY KEY (id);


--
-- Name: record record_pkey; Type: CONSTRAINT; Schema: upcall; Owner: -
--

ALTER TABLE ONLY upcall.record
    ADD CONSTRAINT record_pkey PRIMARY KEY (kind, key);


--
-- Name: token token_pkey; Type: CONSTRAINT; Schema: upcall; Owner: -
--

ALTER TABLE ONLY upcall.token
    ADD CONSTRAINT token_pkey PRIMARY KEY (name);


--
-- Name: writer writer_pkey; Type: CONSTRAINT; Schema: upcall; Owner: -
--

ALTER TABLE ONLY upcall.writer
    ADD CONSTRAINT writer_pkey PRIMARY KEY (name);


--
-- Name: event_in_thread; Type: INDEX; Schema: upcall; Owner: -
--

CREATE INDEX event_in_thread ON upcall.event USING btree ((((data)::json ->> 'thread'::text)), seq) WHERE (type = 'thread_item'::text);


--
-- Name: inquiry_agent; Type: INDEX; Schema: upcall; Owner: -
--

CREATE INDEX inquiry_agent ON upcall.inquiry USING btree (agent, number);


--
-- Name: inquiry_closed; Type: INDEX; Schema: upcall; Owner: -
--

CREATE INDEX inquiry_closed ON upcall.inquiry USING btree (closed_at, number) WHERE (closed_at IS NOT NULL);


--
-- Name: inquiry_due; Type: INDEX; Schema: upcall; Owner: -
--

CREATE INDEX inquiry_due ON upcall.inquiry USING btree (expires_at) INCLUDE (id) WHERE (state = 'open'::text);


--
-- Name: inquiry_open; Type: INDEX; Schema: upcall; Owner: -
--

CREATE INDEX inquiry_open ON upcall.inquiry USING btree (number) INCLUDE (agent, kind) WHERE (state = 'open'::text);


--
-- Name: inquiry_queued; Type: INDEX; Schema: upcall; Owner: -
--

CREATE INDEX inquiry_queued ON upcall.inquiry USING btree (number) INCLUDE (agent, kind) WHERE (state = 'queued'::text);


--
-- Name: inquiry_ref; Type: INDEX; Schema: upcall; Owner: -
--

CREATE INDEX inquiry_ref ON upcall.inquiry USING btree (ref);


--
-- Name: inquiry_request; Type: INDEX; Schema: upcall; Owner: -
--

CREATE INDEX inquiry_request ON upcall.inquiry USING btree (session, purpose, request_key, agent, number) WHERE (request_key IS NOT NULL);


--
-- Name: inquiry_run; Type: INDEX; Schema: upcall; Owner: -
--

CREATE INDEX inquiry_run ON upcall.inquiry USING btree (run, number) WHERE (run IS NOT NULL);


--
-- Name: inquiry_unsearched; Type: INDEX; Schema: upcall; Owner: -
--

CREATE INDEX inquiry_unsearched ON upcall.inquiry USING btree (number) WHERE (searched IS DISTINCT FROM state);


--
-- Name: inquiry_words_found; Type: INDEX; Schema: upcall; Owner: -
--

CREATE INDEX inquiry_words_found ON upcall.inquiry_words USING gin (words);


--
-- Name: job_about; Type: INDEX; Schema: upcall; Owner: -
--

CREATE INDEX job_about ON upcall.job USING btree (kind, subject, due);


--
-- Name: job_due; Type: INDEX; Schema: upcall; Owner: -
--

CREATE INDEX job_due ON upcall.job USING btree (kind, due, runner);


--
-- Name: job_held; Type: INDEX; Schema: upcall; Owner: -
--

CREATE INDEX job_held ON upcall.job USING btree (holder) WHERE (holder <> ''::text);


--
-- Name: record_in_state; Type: INDEX; Schema: upcall; Owner: -
--

CREATE INDEX record_in_state ON upcall.record USING btree (kind, state, at, key);


--
-- Name: record_listed; Type: INDEX; Schema: upcall; Owner: -
--

CREATE INDEX record_listed ON upcall.record USING btree (kind, at, key);


--
-- Name: inquiry_words inquiry_words_number_fkey; Type: FK CONSTRAINT; Schema: upcall; Owner: -
--

ALTER TABLE ONLY upcall.inquiry_words
    ADD CONSTRAINT inquiry_words_number_fkey FOREIGN KEY (number) REFERENCES upcall.inquiry(number) ON DELETE CASCADE;


--
-- PostgreSQL database dump complete
--

\unrestrict vXWDEY3XTquYQd3u6EiI8UTyIOLgBjsVW3TMuFLIzPkoHboMcuGgWQgakj7Jwhb

